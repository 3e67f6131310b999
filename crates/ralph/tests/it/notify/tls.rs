//! The webhook over TLS. The certificate is for these tests alone; its key is no secret.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::project;
use super::receiver::{Post, read};

fn certificate() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/it/notify/localhost.pem")
}

/// Takes one post after another; returns the port, and where the posts are.
fn listen() -> (u16, Receiver<Post>) {
    let key = PrivatePkcs8KeyDer::from(include_bytes!("localhost.key.der").to_vec());
    let certificate = CertificateDer::from_pem_file(certificate()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, posts) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut reader = BufReader::new(StreamOwned::new(connection, stream));
            if let Some(post) = read(&mut reader) {
                let answer = b"HTTP/1.1 204 Taken\r\nconnection: close\r\n\r\n";
                reader.get_mut().write_all(answer).unwrap();
                sender.send(post).unwrap();
            }
        }
    });
    (port, posts)
}

#[test]
fn https_works_with_a_certificate_that_the_machine_trusts_and_only_then() {
    let (port, posts) = listen();
    let webhook = format!("webhook = \"https://localhost:{port}/hook\"");
    let mut project = project(&["a"], &webhook);
    let output = project.ralph(&["notify", "test"]).expect_code(1);
    assert!(output.stdout.contains("certificate"), "{}", output.stdout);
    assert!(posts.try_recv().is_err());
    project.set_env("SSL_CERT_FILE", &certificate().display().to_string());
    project.ok(&["run"]);
    assert_eq!(posts.recv().unwrap().notice()["occasion"], "done");
}
