declare variable $größe := 1;
declare function local:größer($名前) { $名前 > $größe };
(local:größer(2), <élément attribut="é">日本語 🚀</élément>/élément, "ß")
