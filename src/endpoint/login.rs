//! Who logs in.

use std::fmt;

/// A user and its password. Its debugging form hides the password, and it has no other.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    user: Option<String>,
    password: String,
}

impl Login {
    /// This user, or the default one where there is none.
    pub fn new(user: Option<String>, password: String) -> Login {
        Login { user, password }
    }

    /// The user; none for the default one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password. Whatever takes it must not show it.
    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).field("password", &"***").finish()
    }
}
