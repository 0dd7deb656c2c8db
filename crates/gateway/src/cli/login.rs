//! `toolcrib login` and `toolcrib logout`: tokens for remote servers that want a person to agree.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::model::server::Transport;
use toolcrib_config::surroundings::Os;
use toolcrib_core::Code;
use toolcrib_core::limits::LOGIN_MS_MAX;
use toolcrib_core::secret::Secret;
use toolcrib_store::Store;
use toolcrib_upstream::mcp::oauth::{DeviceLogin, Granted, Login as Waiting, LoginError, Wishes};
use url::Url;

use super::counter::{doing, unknown_server};
use super::memory::with_store_to_change;
use super::{Context, now_ms};
use crate::failure::Failure;
use crate::tokens::Tokens;
use crate::ui::{Line, Tone};

mod callback;

/// Log in to a remote server, in a browser or on another device
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib login linear

Exit codes: 0 the tokens are kept, 1 wrong arguments, or the server takes no login, 2 there is no \
such server, or the configuration does not load, 3 the login failed, or the store cannot be used.")]
pub struct Login {
    /// The server's name in the configuration
    #[arg(add = super::completions::server())]
    server: String,
    /// A scope to ask for; may be given several times [default: what the server names]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Print the address instead of opening a browser; a code for another device where the server has them
    #[arg(long)]
    no_browser: bool,
    /// The id of a client that is registered with the authorization server already
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The variable that holds the secret of that client
    #[arg(long, value_name = "NAME", requires = "client_id")]
    client_secret_env: Option<String>,
    /// The https address of a document that describes the client
    #[arg(long, value_name = "URL")]
    client_metadata: Option<String>,
    /// The port on this machine that the browser comes back to; any free one unless given
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

/// Forget the tokens of a remote server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib logout linear

Exit codes: 0 no tokens are kept any more, 1 wrong arguments, 2 there is no such server, or the \
configuration does not load, 3 the store cannot be used.")]
pub struct Logout {
    /// The server's name in the configuration
    #[arg(add = super::completions::server())]
    server: String,
}

/// What a terminal shows while a person is in the browser.
const WAITING: &str = "waiting for you to log in";

impl Login {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = context.loader().config()?;
        let server = find(&config, &self.server)?;
        let url = address(context, server)?;
        let name = server.name.clone();
        let wishes = self.wishes(context)?;
        let granted = with_store_to_change(context, async |context, store| {
            self.log_in(context, store, &name, &url, wishes).await
        })?;
        if context.ui.is_json() {
            context.ui.json(&json!({
                "server": name,
                "issuer": granted.issuer,
                "scopes": granted.scopes,
            }));
        } else {
            let line = Line::new()
                .tone(Tone::Good, "Logged in")
                .text(format_args!(" to {name}."));
            context.ui.line(line);
            let line = format!("`toolcrib tools {name}` lists its tools.");
            context.ui.note(Line::new().tone(Tone::Dim, line));
        }
        Ok(())
    }

    fn wishes(&self, context: &Context) -> Result<Wishes, Failure> {
        let secret = |name: &String| {
            let value = context.surroundings.var(name).map(Secret::new);
            value.ok_or_else(|| {
                Failure::usage(format!(
                    "the variable {name} is not set; put the client's secret into it"
                ))
            })
        };
        Ok(Wishes {
            redirect_uri: String::new(),
            scopes: self
                .scopes
                .iter()
                .flat_map(|s| s.split_whitespace())
                .map(str::to_owned)
                .collect(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret_env.as_ref().map(secret).transpose()?,
            client_metadata: self.client_metadata.clone(),
            challenge: None,
        })
    }

    async fn log_in(
        &self,
        context: &mut Context,
        store: &Store,
        name: &str,
        url: &Url,
        mut wishes: Wishes,
    ) -> Result<Granted, Failure> {
        let tokens = Arc::new(Tokens::new(store.clone(), now_ms));
        let failed = |error: LoginError| {
            Failure::new(
                Code::ServerConnectionError,
                format!("the login to {name} failed: {error}"),
            )
        };
        let asking = format!("asking {name} how to log in");
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await;
        let listener = listener.and_then(|l| l.local_addr().map(|at| (l, at.port())));
        let (listener, port) = listener.map_err(|error| {
            Failure::usage(format!(
                "port {} cannot be listened on: {error}; give another `--port`",
                self.port
            ))
        })?;
        wishes.redirect_uri = format!("http://127.0.0.1:{port}{}", callback::PATH);
        if self.no_browser {
            let begun = DeviceLogin::begin(name, url, tokens.clone(), &wishes);
            let device = doing(context, &asking, begun).await;
            if let Some(device) = device.map_err(failed)? {
                let code = device.code();
                let place = code
                    .verification_uri_complete
                    .as_ref()
                    .unwrap_or(&code.verification_uri);
                let text = format!(
                    "Open {place} on any device and enter the code {}",
                    code.user_code
                );
                context.ui.note(text);
                let granted = doing(context, WAITING, device.finish()).await;
                return granted.map_err(failed);
            }
        }
        let begun = Waiting::begin(name, url, tokens, &wishes);
        let login = doing(context, &asking, begun).await.map_err(failed)?;
        let opened = !self.no_browser && open(context, login.address());
        let lead = if opened {
            "Waiting for your browser; if none opened, go to"
        } else {
            "Open this address in a browser on this machine:"
        };
        context.ui.note(lead);
        context.ui.note(login.address());
        let state = login.state().unwrap_or_default();
        let wait = Duration::from_millis(LOGIN_MS_MAX);
        let returned = tokio::time::timeout(wait, callback::receive(listener, port, &state));
        let returned = doing(context, WAITING, returned).await;
        let Ok(Some(returned)) = returned else {
            return Err(Failure::new(
                Code::ServerConnectionError,
                format!("nobody logged in to {name} in time; try again"),
            ));
        };
        let granted = doing(context, &asking, login.finish(&returned)).await;
        granted.map_err(failed)
    }
}

impl Logout {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = context.loader().config()?;
        // What is not configured any more may still have tokens.
        let known = find(&config, &self.server).map(|server| server.name.clone());
        let name = known.clone().unwrap_or_else(|_| self.server.clone());
        let removed = with_store_to_change(context, async |_, store| {
            Ok(store.remove_tokens(&name).await?)
        })?;
        if removed == 0 {
            known?;
        }
        if context.ui.is_json() {
            context
                .ui
                .json(&json!({ "server": name, "removed": removed }));
        } else if removed == 0 {
            context.ui.line(format!("There were no tokens of {name}."));
        } else {
            context.ui.line(format!("Forgot the tokens of {name}."));
        }
        Ok(())
    }
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a Server, Failure> {
    let mut servers = config.servers.iter();
    servers
        .find(|s| s.name == name || s.aliases.iter().any(|alias| alias == name))
        .ok_or_else(|| {
            let known = config.servers.iter().map(|server| server.name.as_str());
            unknown_server(name, known)
        })
}

fn address(context: &Context, server: &Server) -> Result<Url, Failure> {
    let name = &server.name;
    let (Transport::Http(remote) | Transport::Sse(remote)) = &server.transport else {
        return Err(Failure::usage(format!(
            "{name} runs on this machine and takes its credentials from its variables; there is nothing to log in to"
        )));
    };
    let url = remote
        .url
        .expand(&|variable| context.surroundings.var(variable));
    let url = url.map_err(|unset| {
        Failure::configuration(format!("the address of {name} cannot be made: {unset}"))
    })?;
    Url::parse(url.expose()).map_err(|error| {
        Failure::configuration(format!(
            "the address of {name} cannot be read: {error}; correct it"
        ))
    })
}

/// Opens the address in the user's browser; says whether a program for that could be started.
fn open(context: &Context, address: &str) -> bool {
    let chosen = context.surroundings.var("BROWSER");
    let (program, arguments): (&str, &[&str]) = match (chosen.as_deref(), context.surroundings.os) {
        (Some(browser), _) => (browser, &[]),
        (None, Os::MacOs) => ("open", &[]),
        (None, Os::Windows) => ("rundll32", &["url.dll,FileProtocolHandler"]),
        (None, Os::Linux) => ("xdg-open", &[]),
    };
    let browser = std::process::Command::new(program)
        .args(arguments)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    browser.is_ok()
}
