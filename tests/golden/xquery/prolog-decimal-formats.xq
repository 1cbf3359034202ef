declare namespace p = "urn:p";
declare decimal-format p:f decimal-separator = "," grouping-separator = "." infinity = "oo" minus-sign = "-" NaN = "nan" percent = "%" per-mille = "‰" zero-digit = "0" digit = "#" pattern-separator = ";" exponent-separator = "e";
declare default decimal-format NaN = "?";
format-number(1234.5, "#.##0,00", "p:f")
