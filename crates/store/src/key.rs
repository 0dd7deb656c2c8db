//! API keys: shown once when they are made, kept only as a hash.

use blake3::Hash;
use toolcrib_core::limits::{KEY_SCOPES_MAX, KEYS_MAX};
use toolcrib_core::secret::Secret;

use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// What every key begins with, so that scanners for leaked secrets can tell.
const PREFIX: &str = "tck_";

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Names the key in lists and in the audit log.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_ms: i64,
    /// From when it is no longer accepted, where that is bounded.
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    pub revoked_ms: Option<i64>,
}

impl ApiKey {
    /// Whether the key is accepted at a time.
    pub fn is_valid(&self, now_ms: i64) -> bool {
        self.revoked_ms.is_none() && self.expires_ms.is_none_or(|expires| now_ms < expires)
    }
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// From when it is no longer accepted, where that is bounded.
    pub expires_ms: Option<i64>,
}

impl Store {
    /// Makes a key from 256 random bits of the operating system. Its secret is in the answer and
    /// nowhere else.
    pub async fn create_key(
        &self,
        new: NewKey,
        random: &[u8; 32],
        now_ms: i64,
    ) -> Result<(ApiKey, Secret), StoreError> {
        if new.scopes.len() > KEY_SCOPES_MAX {
            return Err(StoreError::TooLong {
                what: "The list of scopes",
                max: format!("{KEY_SCOPES_MAX} scopes"),
            });
        }
        let secret = Secret::new(format!("{PREFIX}{}", Hash::from_bytes(*random).to_hex()));
        let key = ApiKey {
            id: id_of(secret.expose()),
            name: text::name(&new.name),
            scopes: new.scopes.iter().map(|scope| text::name(scope)).collect(),
            created_ms: now_ms,
            expires_ms: new.expires_ms,
            revoked_ms: None,
        };
        let unit = Create {
            hash: hash_of(secret.expose()).to_hex().to_string(),
            key: key.clone(),
        };
        self.inner.writer.submit(unit).await?;
        Ok((key, secret))
    }

    /// All keys, revoked ones included, oldest first.
    pub async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        let rows = self
            .query(
                "SELECT id, name, scopes, created_ms, expires_ms, revoked_ms FROM api_key \
                 ORDER BY created_ms LIMIT $1",
                args![KEYS_MAX],
            )
            .await?;
        rows.iter().map(read).collect()
    }

    /// Revokes a key for good; `false` when there is none that is still in force.
    pub async fn revoke_key(&self, id: &str, now_ms: i64) -> Result<bool, StoreError> {
        let changed = self
            .execute(
                "UPDATE api_key SET revoked_ms = $2 WHERE id = $1 AND revoked_ms IS NULL",
                args![id, now_ms],
            )
            .await?;
        Ok(changed > 0)
    }

    /// The key behind a presented secret, if it is accepted now.
    ///
    /// The row is found by an id that is itself a hash of the secret, and the hash is compared in
    /// constant time, so that timing tells nothing about a secret that is nearly right.
    pub async fn find_key(
        &self,
        presented: &Secret,
        now_ms: i64,
    ) -> Result<Option<ApiKey>, StoreError> {
        let presented = presented.expose();
        if !presented.starts_with(PREFIX) {
            return Ok(None);
        }
        let rows = self
            .query(
                "SELECT id, name, scopes, created_ms, expires_ms, revoked_ms, hash FROM api_key \
                 WHERE id = $1",
                args![id_of(presented)],
            )
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let key = read(row)?;
        let stored = Hash::from_hex(row.text(6)?)
            .map_err(|_| StoreError::failed("an API key holds a broken hash"))?;
        let matches = stored == hash_of(presented);
        Ok((matches && key.is_valid(now_ms)).then_some(key))
    }
}

fn hash_of(secret: &str) -> Hash {
    blake3::hash(secret.as_bytes())
}

fn id_of(secret: &str) -> String {
    let hash = blake3::derive_key("toolcrib 2025 api key id", secret.as_bytes());
    format!("key-{}", &Hash::from_bytes(hash).to_hex()[..16])
}

fn read(row: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row.text(0)?,
        name: row.text(1)?,
        scopes: serde_json::from_str(&row.text(2)?)
            .map_err(|_| StoreError::failed("an API key holds a broken list of scopes"))?,
        created_ms: row.int(3)?,
        expires_ms: row.int_opt(4)?,
        revoked_ms: row.int_opt(5)?,
    })
}

struct Create {
    key: ApiKey,
    hash: String,
}

impl Unit for Create {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let count = session
            .query("SELECT COUNT(*) FROM api_key", args![])
            .await?;
        if count.first().map_or(Ok(0), |row| row.int(0))? >= KEYS_MAX {
            return Err(StoreError::TooMany {
                what: "API keys",
                max: KEYS_MAX,
            });
        }
        let scopes = serde_json::to_string(&self.key.scopes)
            .map_err(|error| StoreError::failed(error.to_string()))?;
        session
            .execute(
                "INSERT INTO api_key (id, name, hash, scopes, created_ms, expires_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                args![
                    &self.key.id,
                    &self.key.name,
                    &self.hash,
                    scopes,
                    self.key.created_ms,
                    self.key.expires_ms
                ],
            )
            .await
            .map(drop)
    }
}
