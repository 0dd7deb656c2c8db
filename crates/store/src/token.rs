//! Tokens that authorization servers gave us for upstream servers.

use toolcrib_core::limits::TOKEN_BYTES_MAX;
use toolcrib_core::secret::Secret;

use crate::StoreError;
use crate::backend::args;
use crate::store::Store;

/// A stored token record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// The record as its owner wrote it; never shown.
    pub content: Secret,
    /// Counts the writes, so that two processes do not both use up one refresh token.
    pub version: i64,
    /// When it was last written.
    pub updated_ms: i64,
}

impl Store {
    /// The token of an issuer for a server.
    pub async fn token(
        &self,
        issuer: &str,
        server: &str,
    ) -> Result<Option<StoredToken>, StoreError> {
        let rows = self
            .query(
                "SELECT content, version, updated_ms FROM oauth_token \
                 WHERE issuer = $1 AND server = $2",
                args![issuer, server],
            )
            .await?;
        rows.first()
            .map(|row| {
                Ok(StoredToken {
                    content: Secret::new(row.text(0)?),
                    version: row.int(1)?,
                    updated_ms: row.int(2)?,
                })
            })
            .transpose()
    }

    /// The tokens of a server with their issuers, the latest first.
    pub async fn tokens(&self, server: &str) -> Result<Vec<(String, StoredToken)>, StoreError> {
        let rows = self
            .query(
                "SELECT issuer, content, version, updated_ms FROM oauth_token \
                 WHERE server = $1 ORDER BY updated_ms DESC, issuer",
                args![server],
            )
            .await?;
        rows.iter()
            .map(|row| {
                let token = StoredToken {
                    content: Secret::new(row.text(1)?),
                    version: row.int(2)?,
                    updated_ms: row.int(3)?,
                };
                Ok((row.text(0)?, token))
            })
            .collect()
    }

    /// Writes a token over the version that was read (`None`: there was none). `false`, and nothing
    /// is written, when another process was faster: read again and use what it wrote.
    pub async fn save_token(
        &self,
        issuer: &str,
        server: &str,
        content: &Secret,
        read_version: Option<i64>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        if content.expose().len() > TOKEN_BYTES_MAX {
            return Err(StoreError::TooLong {
                what: "A token record",
                max: format!("{TOKEN_BYTES_MAX} bytes"),
            });
        }
        let written = match read_version {
            None => {
                self.execute(
                    "INSERT INTO oauth_token (issuer, server, content, version, updated_ms) \
                     VALUES ($1, $2, $3, 1, $4) ON CONFLICT (issuer, server) DO NOTHING",
                    args![issuer, server, content.expose(), now_ms],
                )
                .await?
            }
            Some(version) => {
                self.execute(
                    "UPDATE oauth_token SET content = $3, version = version + 1, updated_ms = $4 \
                     WHERE issuer = $1 AND server = $2 AND version = $5",
                    args![issuer, server, content.expose(), now_ms, version],
                )
                .await?
            }
        };
        Ok(written > 0)
    }

    /// Forgets the tokens of a server, of whatever issuer; says how many there were.
    pub async fn remove_tokens(&self, server: &str) -> Result<u64, StoreError> {
        self.execute("DELETE FROM oauth_token WHERE server = $1", args![server])
            .await
    }
}
