//! The token for Azure DevOps as a header: the one that is given, or that of the account which is signed in to `az`,
//! the command line program of Azure.

use std::env;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;
use tokio::process::Command;
use tokio::time::timeout;

use crate::settings::{Kind, Secret, SyncSettings, is_of_this_machine};

/// What the token is for: the id that Azure DevOps has in Microsoft Entra.
const RESOURCE: &str = "499b84ac-1321-427f-aa17-267ca6975798";
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the header for a token. A personal access token is a password without a user; the one of `az` is a JWT.
pub(crate) fn header(secret: &Secret) -> Result<HeaderValue, String> {
    let token = &secret.0;
    let is_jwt = token.starts_with("eyJ") && token.matches('.').count() == 2;
    let header = if is_jwt {
        format!("Bearer {token}")
    } else {
        format!("Basic {}", STANDARD.encode(format!(":{token}")))
    };
    let header = HeaderValue::from_str(&header);
    let mut header = header.map_err(|_| format!("{} is no token", Kind::Azure.variable()))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Returns true if a sync may ask `az`: it is installed, the settings name no other secret, and the remote is the
/// service of Microsoft, which alone takes such tokens.
pub(crate) fn has_az(
    settings: &SyncSettings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let directories = environment("PATH").unwrap_or_default();
    let is_installed = || env::split_paths(&directories).any(|path| path.join("az").is_file());
    let url = &settings.url;
    settings.token_file.is_none() && (is_service(url) || is_of_this_machine(url)) && is_installed()
}

/// Returns true if an address is the service of Microsoft. It is read as for the connection, so that no other one looks
/// like it.
fn is_service(url: &str) -> bool {
    let url = Url::parse(url).ok().filter(|url| url.scheme() == "https");
    url.as_ref()
        .and_then(Url::host_str)
        .is_some_and(|host| host == "dev.azure.com" || host.ends_with(".visualstudio.com"))
}

/// Asks for a token, which is good for an hour.
///
/// # Errors
///
/// No account is signed in, or `az` fails in another way. The text has what it says.
pub(crate) async fn header_of_az() -> Result<HeaderValue, String> {
    let failed = |why: &str| {
        format!(
            "`az account get-access-token` failed: {why}: run `az login`, or set AZURE_DEVOPS_TOKEN"
        )
    };
    let mut az = Command::new("az");
    az.args(["account", "get-access-token", "--resource", RESOURCE]);
    az.args(["--query", "accessToken", "--output", "tsv"]);
    let output = timeout(LIMIT, az.stdin(Stdio::null()).kill_on_drop(true).output()).await;
    let output = output.map_err(|_| failed("it does not end"))?;
    let output = output.map_err(|error| failed(&error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || token.is_empty() {
        return Err(failed(said.lines().next().unwrap_or("it says nothing")));
    }
    header(&Secret(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_service_gets_a_token_of_az() {
        for (url, expected) in [
            ("https://dev.azure.com/acme", true),
            ("https://DEV.azure.com:443", true),
            ("https://acme.visualstudio.com", true),
            ("http://dev.azure.com/acme", false),
            ("https://dev.azure.com.example.com", false),
            ("https://acmevisualstudio.com", false),
            ("https://example.com?.visualstudio.com", false),
            ("https://example.com#.visualstudio.com", false),
            ("https://example.com\\.visualstudio.com", false),
            ("https://example.com%2f.visualstudio.com", false),
            ("https://dev.azure.com:b@example.com", false),
            ("dev.azure.com", false),
        ] {
            assert_eq!(is_service(url), expected, "{url}");
        }
    }
}
