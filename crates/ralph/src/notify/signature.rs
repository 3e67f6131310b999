//! The signature of a post: whoever knows the secret can check that it comes from this Ralph, and when.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY` in hex.
pub fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    let hex = hmac_sha256(
        secret.as_bytes(),
        &[timestamp.to_string().as_bytes(), b".", body.as_bytes()],
    );
    format!("sha256={hex}")
}

fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> String {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    for part in parts {
        mac.update(part);
    }
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 2 and 6: a short key, and one longer than a block.
    #[test]
    fn it_is_hmac_sha256() {
        assert_eq!(
            hmac_sha256(b"Jefe", &[b"what do ya want ", b"for nothing?"]),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hmac_sha256(&[0xaa; 131], &[text]),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn time_and_body_are_signed_together() {
        let signed = signature("secret", 1_700_000_000, "{}");
        // docs/notifications.md shows this one.
        let expected = "sha256=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";
        assert_eq!(signed, expected);
        assert_ne!(signed, signature("secret", 1_700_000_001, "{}"));
        assert_ne!(signed, signature("secret", 1_700_000_000, "{ }"));
        assert_ne!(signed, signature("Secret", 1_700_000_000, "{}"));
    }
}
