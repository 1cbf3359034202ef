"""Messages as mail."""

from demaq.gateways.mail import mail_of
from gateways.parcels import parcel


def test_names_of_elements_are_subjects_whatever_their_length() -> None:
    message = parcel("mailto:ada@example.org", body=f"<{'a' * 50_001}/>").message
    assert mail_of(message, "ada@example.org", "shop@example.org", "urn:uuid:1")["Subject"] == "a" * 200
