"""The names of WS-Security, XML Signature and XML Encryption."""

_OASIS = "http://docs.oasis-open.org/wss"
_PROFILES = f"{_OASIS}/2004/01/oasis-200401-wss"

# Elements

WSSE = f"{_PROFILES}-wssecurity-secext-1.0.xsd"
WSU = f"{_PROFILES}-wssecurity-utility-1.0.xsd"
DS = "http://www.w3.org/2000/09/xmldsig#"
XENC = "http://www.w3.org/2001/04/xmlenc#"
XENC11 = "http://www.w3.org/2009/xmlenc11#"

# Values of attributes

PASSWORD_TEXT = f"{_PROFILES}-username-token-profile-1.0#PasswordText"
PASSWORD_DIGEST = f"{_PROFILES}-username-token-profile-1.0#PasswordDigest"
BASE64 = f"{_PROFILES}-soap-message-security-1.0#Base64Binary"
X509_V3 = f"{_PROFILES}-x509-token-profile-1.0#X509v3"
SUBJECT_KEY = f"{_PROFILES}-x509-token-profile-1.0#X509SubjectKeyIdentifier"
THUMBPRINT = f"{_OASIS}/oasis-wss-soap-message-security-1.1#ThumbprintSHA1"
CONTENT = f"{XENC}Content"
ELEMENT = f"{XENC}Element"

# Algorithms

_MORE = "http://www.w3.org/2001/04/xmldsig-more#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
RSA_SHA256 = f"{_MORE}rsa-sha256"
RSA_SHA384 = f"{_MORE}rsa-sha384"
RSA_SHA512 = f"{_MORE}rsa-sha512"
ECDSA_SHA256 = f"{_MORE}ecdsa-sha256"
ECDSA_SHA384 = f"{_MORE}ecdsa-sha384"
ECDSA_SHA512 = f"{_MORE}ecdsa-sha512"
SHA1 = f"{DS}sha1"
SHA256 = f"{XENC}sha256"
SHA384 = f"{_MORE}sha384"
SHA512 = f"{XENC}sha512"
AES128_CBC = f"{XENC}aes128-cbc"
AES256_CBC = f"{XENC}aes256-cbc"
AES128_GCM = f"{XENC11}aes128-gcm"
AES256_GCM = f"{XENC11}aes256-gcm"
OAEP_SHA1 = f"{XENC}rsa-oaep-mgf1p"  # masks are made with SHA-1, whatever the digest is
OAEP = f"{XENC11}rsa-oaep"


def wsse(local: str) -> str:
    return f"{{{WSSE}}}{local}"


def wsu(local: str) -> str:
    return f"{{{WSU}}}{local}"


def ds(local: str) -> str:
    return f"{{{DS}}}{local}"


def xenc(local: str) -> str:
    return f"{{{XENC}}}{local}"
