//! The keys of a device, the keys of a space, and what is done with them: sign, verify, seal, open, wrap.
//!
//! Does not know who is a member.

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::id::random;
use age::secrecy::ExposeSecret;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use std::str::FromStr;

const NONCE: usize = 24;
pub(crate) const SIGNATURE: usize = 64;

/// The public half of a device's signing key. It identifies the member.
pub(crate) type PublicKey = [u8; 32];

/// The secrets of a device: one key to sign, one to receive wrapped keys.
#[derive(Clone)]
pub(crate) struct DeviceKeys {
    signing: SigningKey,
    identity: age::x25519::Identity,
}

impl DeviceKeys {
    pub(crate) fn generate() -> Result<DeviceKeys> {
        let signing = SigningKey::from_bytes(&random()?);
        Ok(DeviceKeys { signing, identity: age::x25519::Identity::generate() })
    }

    pub(crate) fn public(&self) -> PublicKey {
        self.signing.verifying_key().to_bytes()
    }

    /// What others wrap keys for: an age recipient, `age1…`.
    pub(crate) fn recipient(&self) -> String {
        self.identity.to_public().to_string()
    }

    /// Appends a signature over the bytes so far.
    pub(crate) fn sign(&self, mut writer: Writer) -> Vec<u8> {
        let signature = self.signing.sign(writer.as_bytes());
        writer.array(&signature.to_bytes());
        writer.finish()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.array(self.signing.as_bytes()).string(self.identity.to_string().expose_secret().as_bytes());
        writer.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<DeviceKeys> {
        let mut reader = Reader::new(bytes, "the device key");
        let signing = SigningKey::from_bytes(&reader.array()?);
        let identity = reader.text()?;
        let identity = age::x25519::Identity::from_str(&identity).map_err(|_| reader.damaged())?;
        reader.finish()?;
        Ok(DeviceKeys { signing, identity })
    }

    /// Opens what was wrapped for this device. None: it was not.
    pub(crate) fn unwrap(&self, wrapped: &[u8]) -> Option<Vec<u8>> {
        age::decrypt(&self.identity, wrapped).ok()
    }
}

/// Returns the bytes before the signature, if it is the signer's.
pub(crate) fn verify<'a>(bytes: &'a [u8], signer: &PublicKey, what: &'static str) -> Result<&'a [u8]> {
    let forged = || Error::Forged { what };
    let at = bytes.len().checked_sub(SIGNATURE).ok_or_else(forged)?;
    let (content, signature) = bytes.split_at(at);
    let key = VerifyingKey::from_bytes(signer).map_err(|_| forged())?;
    let signature = Signature::from_slice(signature).map_err(|_| forged())?;
    key.verify_strict(content, &signature).map_err(|_| forged())?;
    Ok(content)
}

/// Encrypts for several devices at once.
pub(crate) fn wrap(content: &[u8], recipients: &[String]) -> Result<Vec<u8>> {
    let damaged = || Error::Damaged { what: "the key of a member" };
    let keys: Vec<age::x25519::Recipient> =
        recipients.iter().map(|text| text.parse().map_err(|_| damaged())).collect::<Result<_>>()?;
    let recipients = keys.iter().map(|key| key as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(recipients).map_err(|_| damaged())?;
    let mut wrapped = Vec::new();
    let write = |wrapped: &mut Vec<u8>| -> std::io::Result<()> {
        let mut writer = encryptor.wrap_output(wrapped)?;
        std::io::Write::write_all(&mut writer, content)?;
        writer.finish().map(drop)
    };
    write(&mut wrapped).map_err(|_| damaged())?;
    Ok(wrapped)
}

pub(crate) fn is_recipient(text: &str) -> bool {
    age::x25519::Recipient::from_str(text).is_ok()
}

/// A symmetric key; its content reaches the member list and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SpaceKey(pub(crate) [u8; 32]);

impl SpaceKey {
    pub(crate) fn generate() -> Result<SpaceKey> {
        random().map(SpaceKey)
    }

    /// Nonce and ciphertext. `bound` is not stored: opening needs the same bytes.
    pub(crate) fn seal(&self, content: &[u8], bound: &[u8]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE] = random()?;
        let payload = Payload { msg: content, aad: bound };
        let sealed = self.cipher().encrypt(XNonce::from_slice(&nonce), payload);
        let sealed = sealed.map_err(|_| Error::Damaged { what: "the content to seal" })?;
        Ok([&nonce[..], &sealed].concat())
    }

    pub(crate) fn open(&self, sealed: &[u8], bound: &[u8], what: &'static str) -> Result<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE).ok_or(Error::Damaged { what })?;
        let payload = Payload { msg: sealed, aad: bound };
        self.cipher().decrypt(XNonce::from_slice(nonce), payload).map_err(|_| Error::Forged { what })
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_every_byte() {
        let keys = DeviceKeys::generate().unwrap();
        let signed = keys.sign(Writer::new(*b"TEST"));
        assert_eq!(verify(&signed, &keys.public(), "test").unwrap(), b"TEST");
        for at in 0..signed.len() {
            let mut changed = signed.clone();
            changed[at] ^= 1;
            assert!(verify(&changed, &keys.public(), "test").is_err(), "byte {at}");
        }
    }

    #[test]
    fn only_recipients_open_what_was_wrapped() {
        let [a, b, c] = [(); 3].map(|()| DeviceKeys::generate().unwrap());
        let wrapped = wrap(b"secret", &[a.recipient(), b.recipient()]).unwrap();
        assert_eq!(
            (a.unwrap(&wrapped), b.unwrap(&wrapped)),
            (Some(b"secret".into()), Some(b"secret".into()))
        );
        assert_eq!(c.unwrap(&wrapped), None);
    }

    #[test]
    fn sealed_bytes_open_only_where_they_belong() {
        let key = SpaceKey::generate().unwrap();
        let sealed = key.seal(b"text", b"pack 1").unwrap();
        assert_eq!(key.open(&sealed, b"pack 1", "test").unwrap(), b"text");
        assert!(key.open(&sealed, b"pack 2", "test").is_err());
        assert!(SpaceKey::generate().unwrap().open(&sealed, b"pack 1", "test").is_err());
    }

    #[test]
    fn device_keys_are_read_as_written() {
        let keys = DeviceKeys::generate().unwrap();
        let read = DeviceKeys::decode(&keys.encode()).unwrap();
        assert_eq!((read.public(), read.recipient()), (keys.public(), keys.recipient()));
    }
}
