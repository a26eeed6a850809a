//! Environment variables that decide which code runs: programs, libraries, options and settings files.
//!
//! A consent request shows the values of these variables. The list of these variables cannot be complete, so a changed value of
//! any other variable also needs a new approval.

use super::redact::SecretNames;

/// Names of variables, in upper case.
const NAMES: &[&str] = &[
    // Programs and shells
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SHELL",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "IFS",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "FPATH",
    "VIMINIT",
    "EXINIT",
    "HGRCPATH",
    "PSMODULEPATH",
    // Folders of settings and packages
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "NVM_DIR",
    "CURL_HOME",
    "WGETRC",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "KUBECONFIG",
    "AWS_CONFIG_FILE",
    // Libraries
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "QT_PLUGIN_PATH",
    "GTK_MODULES",
    "GIO_EXTRA_MODULES",
    "PKG_CONFIG_PATH",
    "TERMINFO",
    // Languages
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "TCLLIBPATH",
    "GOFLAGS",
    "GOPROXY",
    "GOPATH",
    "GOBIN",
    "GOROOT",
    "GOTOOLCHAIN",
    "GOENV",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "CC",
    "CXX",
    "LD",
    "AR",
    "MAKE",
    "MAKEFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CONTAINERS_CONF",
    "ODBCSYSINI",
    "TS_NODE_COMPILER",
];

/// Prefixes of names, in upper case.
const PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "GIT_",
    "XDG_",
    "NODE_",
    "NPM_",
    "PNPM_",
    "YARN_",
    "COREPACK_",
    "VOLTA_",
    "DENO_",
    "BUN_",
    "PYTHON",
    "PIP_",
    "PIPX_",
    "UV_",
    "POETRY_",
    "PYENV_",
    "CONDA_",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "RBENV_",
    "PERL",
    "PHP_",
    "JAVA_",
    "JDK_",
    "MAVEN_",
    "GRADLE_",
    "DOTNET_",
    "COR_",
    "CORECLR_",
    "NUGET_",
    "CARGO_",
    "RUSTUP_",
    "LUA_",
    "R_LIBS",
    "R_PROFILE",
    "R_ENVIRON",
    "JULIA_",
    "ERL_",
    "ELIXIR_",
    "ASDF_",
    "MISE_",
    // Functions of bash
    "BASH_FUNC_",
];

/// Suffixes of names of variables, in upper case. The variables contain programs, files, folders and addresses.
const SUFFIXES: &[&str] = &[
    "_PATH",
    "_PATHS",
    "_HOME",
    "_DIR",
    "_FILE",
    "_CONF",
    "_CONFIG",
    "_PROGRAM",
    "_EXECUTABLE",
    "_BINARY",
    "_BIN",
    "_COMMAND",
    "_CMD",
    "_COMPILER",
    "_INTERPRETER",
    "_PYTHON",
    "_WRAPPER",
    "_PROVIDER",
    "_PROVIDERS",
    "_SSH",
    "_RSH",
    "_OPTS",
    "_OPTIONS",
    "_PROXY",
    "_ENDPOINT",
    "_BASE_URL",
    "_ENDPOINT_URL",
];

/// Returns whether a variable with this name decides which code runs. Returns `false` for a name
/// that marks a secret, such as a token, because the value must not be shown.
pub(super) fn chooses_code(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_listed =
        NAMES.contains(&&*upper) || PREFIXES.iter().any(|prefix| upper.starts_with(prefix));
    // Such a name says that the value is a place, even if it contains a word such as `CREDENTIAL`.
    let is_place = SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
        || upper.starts_with("CARGO_CREDENTIAL_ALIAS_");
    is_place || is_listed && !SecretNames::default().contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_loaders_and_interpreters_decide_which_code_runs() {
        for name in [
            "PATH",
            "Path",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "RUBYOPT",
            "PERL5OPT",
            "BASH_ENV",
            "ENV",
            "GIT_SSH_COMMAND",
            "EDITOR",
            "npm_config_script_shell",
            "UV_INDEX_URL",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "RUSTC_WRAPPER",
            "DOTNET_STARTUP_HOOKS",
            "GCONV_PATH",
            "PHP_INI_SCAN_DIR",
            "GIT_ASKPASS",
            "BASH_FUNC_git%%",
            "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
            "CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS",
            "CARGO_CREDENTIAL_ALIAS_X",
            "SVN_SSH",
            "CVS_RSH",
            "SBT_OPTS",
            "VIMINIT",
            "NUGET_CREDENTIALPROVIDERS_PATH",
            "AWS_SHARED_CREDENTIALS_FILE",
            "CLOUDSDK_PYTHON",
            "PUPPETEER_EXECUTABLE_PATH",
            "GUILE_LOAD_PATH",
            "https_proxy",
            "OPENAI_BASE_URL",
        ] {
            assert!(chooses_code(name), "{name}");
        }
        for name in [
            "GOOGLE_API_KEY",
            "PATHS",
            "GITHUB_TOKEN",
            "GIT_TOKEN",
            "NPM_TOKEN",
            "API_KEY",
            "LOG_LEVEL",
        ] {
            assert!(!chooses_code(name), "{name}");
        }
    }
}
