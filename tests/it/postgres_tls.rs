//! TLS connections to PostgreSQL, and which certificates they accept.

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::store::{Store, StoreError};

use crate::support::commands::{add, at};
use crate::support::directory;
use crate::support::postgres::{Server, give, open, shared};
use crate::support::stores::apply;

/// Runs openssl, which Debian installs with PostgreSQL.
fn openssl(directory: &Path, arguments: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args(arguments.split(' ')).current_dir(directory);
    let done = openssl.output().unwrap();
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Creates a certificate authority.
fn authority(directory: &Path, name: &str) -> PathBuf {
    let make = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} \
         -keyout {name}.key -out {name}.crt"
    );
    openssl(directory, &make);
    directory.join(format!("{name}.crt"))
}

/// Creates a certificate for an address or a host name, signed by an authority.
fn certificate(directory: &Path, authority: &str, name: &str, host: &str) -> [PathBuf; 2] {
    let make = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} \
         -CA {authority}.crt -CAkey {authority}.key -addext subjectAltName={host} \
         -addext basicConstraints=critical,CA:FALSE -keyout {name}.key -out {name}.crt"
    );
    openssl(directory, &make);
    let (certificate, key) =
        (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
    give(&certificate, 0o644);
    give(&key, 0o600);
    [certificate, key]
}

/// Starts a server with a certificate.
fn start([certificate, key]: &[PathBuf; 2]) -> Option<Server> {
    let certificate = format!("ssl_cert_file={}", certificate.display());
    let key = format!("ssl_key_file={}", key.display());
    Server::start(&["ssl=on", &certificate, &key])
}

/// Files an issue. Returns true if the connections of the store are encrypted.
async fn file(server: &Server, url: &str) -> Result<bool, StoreError> {
    let store = open(&format!("{url}&application_name=tls"));
    apply(&store, add(1, Classification::Bug), at(0)).await?;
    let encrypted = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a ON a.pid = s.pid \
                     WHERE a.application_name = 'tls'";
    let found = server.connect().await.query_one(encrypted, &[]).await.unwrap().get(0);
    assert_eq!(store.counts().await?.total(), 1);
    Ok(found)
}

#[tokio::test]
async fn verify_full_checks_the_authority_and_the_host() {
    let Some(server) = shared() else { return };
    let library = "SELECT current_setting('ssl_library')";
    if server.connect().await.query_one(library, &[]).await.unwrap().get::<_, String>(0).is_empty()
    {
        eprintln!("skipped: this build of PostgreSQL cannot encrypt");
        return;
    }
    let place = directory();
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = place.path();
    let (ours, other) = (authority(path, "ours"), authority(path, "other"));
    let Some(server) = start(&certificate(path, "ours", "good", "IP:127.0.0.1")) else { return };
    let url = |parameters: &str| format!("{}&{parameters}", server.project());
    let trusting = |root: &Path| format!("sslmode=verify-full&sslrootcert={}", root.display());
    assert!(file(&server, &url(&trusting(&ours))).await.unwrap());
    for refused in [trusting(&other), "sslmode=verify-full".to_owned()] {
        let error = file(&server, &url(&refused)).await.unwrap_err();
        assert!(matches!(error, StoreError::NotSaved(_)), "{error}");
        let text = error.to_string();
        for words in ["certificate of the server is not accepted", "UnknownIssuer", "sslrootcert"] {
            assert!(text.contains(words), "{refused}: {text}");
        }
    }
    // These modes encrypt but verify no certificate.
    assert!(file(&server, &url("sslmode=require")).await.unwrap());
    assert!(file(&server, &url("sslmode=prefer")).await.unwrap());
    assert!(!file(&server, &url("sslmode=disable")).await.unwrap());
    // This certificate is for another host.
    let far = certificate(path, "ours", "far", "DNS:db.example.com");
    let Some(far) = start(&far) else { return };
    let url = format!("{}&{}", far.project(), trusting(&ours));
    let error = file(&far, &url).await.unwrap_err().to_string();
    assert!(error.contains("for the host in the URL"), "{error}");
    assert!(error.contains("db.example.com") || error.contains("NotValidForName"), "{error}");
}

#[tokio::test]
async fn sslmode_require_refuses_a_server_without_tls() {
    let Some(server) = shared() else { return };
    let url = format!("{}&sslmode=require", server.project());
    let error = open(&url).counts().await.unwrap_err().to_string();
    assert!(error.contains("server does not support TLS"), "{error}");
    let missing = format!("{}&sslmode=verify-full&sslrootcert=/nowhere.crt", server.project());
    let error = open(&missing).counts().await.unwrap_err().to_string();
    assert!(error.contains("/nowhere.crt"), "{error}");
}
