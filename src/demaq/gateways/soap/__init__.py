"""SOAP 1.1 and 1.2, WS-Addressing and WSDL."""
