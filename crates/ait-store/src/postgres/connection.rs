//! Connections: a small pool, encryption, and transactions that leave nothing behind.

use std::fs;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Connect, Manager, ManagerConfig, Object, Pool, PoolError, QueueMode,
    RecyclingMethod, Runtime, TimeoutType,
};
use futures::future::try_join_all;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use super::error::Failure;
use super::horizon::Horizon;
use super::options::{PostgresOptions, Tls};
use super::password::with_password;
use super::sql::Statements;
use crate::sql::condition::Value;

/// How long a connection stays open that is not used.
const IDLE_FOR: Duration = Duration::from_secs(15);
/// How long opening a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a call waits for a connection of the pool.
const WAIT_WITHIN: Duration = Duration::from_secs(10);

/// A parameter of a statement, with its type, so that no statement has to be prepared first.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Returns values as the parameters of a statement.
pub(super) fn params(values: &[Value]) -> Vec<Param<'_>> {
    fn param(value: &Value) -> Param<'_> {
        match value {
            Value::Int(number) => (number, Type::INT8),
            Value::Text(text) => (text, Type::TEXT),
            Value::Id(id) => (id, Type::UUID),
            Value::Ids(ids) => (ids, Type::UUID_ARRAY),
            Value::Texts(texts) => (texts, Type::TEXT_ARRAY),
        }
    }
    values.iter().map(param).collect()
}

/// Runs a statement, prepared if it is one of the [statements that changes use most](Statements::hot).
pub(super) async fn run(
    client: &ClientWrapper,
    sql: &Statements,
    statement: &str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    if client.statement_cache.size() == 0 || !sql.is_hot(statement) {
        return client.query_typed(statement, params).await;
    }
    let prepared = client.prepare_cached(statement).await?;
    client.query(&prepared, &values(params)).await
}

fn values<'a>(params: &[Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|(value, _)| *value).collect()
}

/// The connections of a process.
pub(super) struct Connections {
    pool: Pool,
    /// The host, the port and the database.
    place: String,
    /// The value of [`MARK`] in each session of this pool. A session without it belongs to a pooler.
    mark: String,
    /// Whether a pooler is known to be between this process and the server.
    is_pooled: AtomicBool,
}

/// A setting that is made with the connection. A pooler in transaction mode loses it, and with it prepared statements
/// would be those of another process.
const MARK: &str = "ait.connection";

impl Connections {
    /// Returns a pool without any connection.
    pub fn new(options: &Arc<PostgresOptions>, horizon: &Arc<Horizon>) -> Result<Self, Failure> {
        let horizon = Arc::clone(horizon);
        let connect = Connector { options: Arc::clone(options), tls: tls(options)?, horizon };
        let mut config = options.config.clone();
        config.connect_timeout(CONNECT_WITHIN);
        let mark = Uuid::new_v4().simple().to_string();
        let given = config.get_options().unwrap_or_default();
        config.options(format!("{given} -c {MARK}={mark}"));
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_connect(config, connect, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager)
            .max_size(options.max_connections)
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .create_timeout(Some(CONNECT_WITHIN))
            .wait_timeout(Some(WAIT_WITHIN))
            .build()
            .map_err(|error| Failure::Other(error.to_string()))?;
        Ok(Self { pool, place: options.place(), mark, is_pooled: AtomicBool::new(false) })
    }

    /// Returns a connection for statements that are transactions of their own.
    pub async fn get(&self) -> Result<Object, Failure> {
        let got = self.pool.get().await;
        got.map_err(|error| match error {
            PoolError::Backend(error) => Failure::from(error).at(&self.place),
            PoolError::Timeout(TimeoutType::Wait) => {
                Failure::Busy("other work of this process keeps its connections".into())
            }
            PoolError::Timeout(_) => Failure::Away(
                "no connection could be opened in time; check the address and the server".into(),
            )
            .at(&self.place),
            other => Failure::Other(other.to_string()),
        })
    }

    /// Closes the connections that have not been used for some time, so that many idle processes need few of them.
    pub fn close_idle(&self) {
        self.pool.retain(|_, metrics| metrics.last_used() < IDLE_FOR);
    }

    /// Does some work within a time limit. If that is over, the connections may be dead although nothing says so, and
    /// those that are idle are closed.
    pub async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            self.pool.retain(|_, _| false);
            Err(Failure::Busy("the database did not answer in time".into()))
        })
    }

    /// Returns a connection for a transaction, with the statements prepared that it will use. Behind a pooler nothing
    /// is prepared.
    pub async fn session(&self, hot: &[&str]) -> Result<PooledConnection, Failure> {
        let session = PooledConnection(Some(self.get().await?));
        if session.statement_cache.size() == 0 && !self.is_pooled.load(Ordering::Relaxed) {
            let found =
                session.query_typed_one("SELECT current_setting($1, true)", &[(&MARK, Type::TEXT)]);
            let found: Option<String> = found.await?.try_get(0)?;
            if found.as_ref() == Some(&self.mark) {
                try_join_all(hot.iter().map(|statement| session.prepare_cached(statement))).await?;
            } else {
                self.is_pooled.store(true, Ordering::Relaxed);
            }
        }
        Ok(session)
    }
}

/// Opens a connection that is not in the pool.
pub(super) async fn open(
    options: &PostgresOptions,
) -> Result<(tokio_postgres::Client, ListenConnection), Failure> {
    let mut config = options.config.clone();
    config.connect_timeout(CONNECT_WITHIN);
    let config = with_password(options, config);
    let connecting = config.connect(tls(options)?);
    let connected = tokio::time::timeout(CONNECT_WITHIN, connecting).await;
    connected
        .map_err(|_| Failure::Away("the server did not answer in time".into()))
        .and_then(|connected| connected.map_err(Failure::from))
        .map_err(|failure| failure.at(&options.place()))
}

/// A connection that its listener polls.
pub(super) type ListenConnection =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// A connection in a transaction. It goes back to the pool only when the transaction is over, else it is closed, which
/// rolls back.
pub(super) struct PooledConnection(Option<Object>);

impl PooledConnection {
    /// Gives the connection back, because its transaction is over.
    pub fn finish(mut self) {
        drop(self.0.take());
    }
}

impl Deref for PooledConnection {
    type Target = ClientWrapper;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("only finish and drop take the connection")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(Object::take(connection));
        }
    }
}

/// Opens the connections of the pool. Reads the password again for each one.
struct Connector {
    options: Arc<PostgresOptions>,
    tls: MakeRustlsConnect,
    horizon: Arc<Horizon>,
}

type Connecting<'a> = Pin<
    Box<
        dyn Future<Output = Result<(tokio_postgres::Client, JoinHandle<()>), tokio_postgres::Error>>
            + Send
            + 'a,
    >,
>;

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Connecting<'_> {
        let config = with_password(&self.options, config.clone());
        let tls = self.tls.clone();
        Box::pin(async move {
            let connected = match config.connect(tls.clone()).await {
                // A pooler that knows no such setting.
                Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                    // An empty one is unknown to it, too.
                    let mut config = self.options.config.clone();
                    config.connect_timeout(CONNECT_WITHIN);
                    with_password(&self.options, config).connect(tls).await
                }
                connected => connected,
            };
            let (client, connection) = connected?;
            // It may be to another server, whose transactions have lower ids.
            self.horizon.forget();
            let task = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!("a connection to the database ended: {error}");
                }
            });
            Ok((client, task))
        })
    }
}

fn tls(options: &PostgresOptions) -> Result<MakeRustlsConnect, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Other(error.to_string()))?;
    let config = if options.tls == Tls::Verified {
        builder.with_root_certificates(roots(options)?).with_no_client_auth()
    } else {
        let verifier = Arc::new(AnyCertificate(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(options: &PostgresOptions) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &options.root_certificate else {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = "this machine has no certificates of authorities; name a file in sslrootcert";
            return Err(Failure::Other(why.to_owned()));
        }
        return Ok(roots);
    };
    let wrong = |why: String| {
        Failure::Other(format!("failed to read the certificates in {}: {why}", path.display()))
    };
    let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(roots)
}

/// Accepts every certificate: the URL asks for encryption without verification, or the server is on this machine.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
