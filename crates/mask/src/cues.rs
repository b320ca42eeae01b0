//! Words that announce a secret, in the languages that people write.
//!
//! Does not know where the secret is, nor what it looks like.

/// What a word announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cue {
    Password,
    Pass,
    Secret,
    Token,
    Key,
    Auth,
    Login,
    Session,
    Seed,
    License,
    Flag,
}

/// Words that announce a secret, each of at least three bytes.
#[rustfmt::skip]
pub(crate) const CUES: &[(&str, Cue)] = &[
    ("password", Cue::Password), ("passwd", Cue::Password), ("passphrase", Cue::Password), ("passcode", Cue::Password),
    ("passwort", Cue::Password), ("kennwort", Cue::Password), ("contrase", Cue::Password), ("mot de passe", Cue::Password),
    ("senha", Cue::Password), ("wachtwoord", Cue::Password), ("hasło", Cue::Password), ("haslo", Cue::Password), ("hasłem", Cue::Password),
    ("арол", Cue::Password), ("mdp", Cue::Password), ("κωδικ", Cue::Password), ("סיסמ", Cue::Password), ("รหัสผ่าน", Cue::Password), ("kata sandi", Cue::Password), ("كلمة ا", Cue::Password), ("пасс", Cue::Password), ("jelsz", Cue::Password), ("パスフレーズ", Cue::Password), ("lösen", Cue::Password), ("pw:t", Cue::Password), ("parool", Cue::Password), ("parola", Cue::Password), ("ifre", Cue::Password),
    ("lösenord", Cue::Password), ("losenord", Cue::Password), ("salasana", Cue::Password), ("heslo", Cue::Password), ("adgangskode", Cue::Password),
    ("密码", Cue::Password), ("密碼", Cue::Password), ("口令", Cue::Password), ("パスワード", Cue::Password), ("パスは", Cue::Password),
    ("비밀번호", Cue::Password), ("비번", Cue::Password), ("암호", Cue::Password), ("暗証", Cue::Password), ("mật khẩu", Cue::Password),
    ("पासवर्ड", Cue::Password), ("contraseña", Cue::Password),
    ("pass", Cue::Pass), ("pwd", Cue::Pass), (" pw ", Cue::Pass), ("_pw", Cue::Pass), ("-pw", Cue::Pass), ("pw=", Cue::Pass), ("pw:", Cue::Pass),
    ("pw\"", Cue::Pass), ("pw'", Cue::Pass), ("\"pw", Cue::Pass), ("'pw", Cue::Pass), ("psk", Cue::Pass), ("pin ", Cue::Pass), ("pin:", Cue::Pass), ("pin=", Cue::Pass), ("community", Cue::Pass),
    ("pw is", Cue::Pass), ("pw ist", Cue::Pass), ("clave", Cue::Pass),
    ("secret", Cue::Secret), ("екрет", Cue::Secret), ("密钥", Cue::Secret), ("秘钥", Cue::Secret), ("密鑰", Cue::Secret), ("geheim", Cue::Secret), ("シークレット", Cue::Secret),
    ("credential", Cue::Secret), ("creds", Cue::Secret), ("encrypt", Cue::Secret), ("salt", Cue::Secret), ("hmac", Cue::Secret), ("signing", Cue::Secret),
    ("token", Cue::Token), ("令牌", Cue::Token), ("トークン", Cue::Token), ("окен", Cue::Token), ("토큰", Cue::Token), ("jwt", Cue::Token), ("webhook", Cue::Token), ("_pat", Cue::Token),
    ("key", Cue::Key), ("schlüssel", Cue::Key), ("clé ", Cue::Key), ("llave", Cue::Key), ("chiave", Cue::Key), ("люч", Cue::Key), ("κλειδ", Cue::Key), ("\"d\":", Cue::Key), ("\"k\":", Cue::Key), ("wif:", Cue::Key), ("キー", Cue::Key), ("anahtar", Cue::Key), ("klucz", Cue::Key), ("chave", Cue::Key), ("키는", Cue::Key), ("키 ", Cue::Key),
    ("auth", Cue::Auth), ("bearer", Cue::Auth), ("signature", Cue::Auth), ("sig=", Cue::Auth),
    ("login", Cue::Login), ("anmeld", Cue::Login), ("zugang", Cue::Login), ("账号", Cue::Login), ("帐号", Cue::Login), ("登录", Cue::Login), ("ログイン", Cue::Login), ("connect(", Cue::Login), ("client(", Cue::Login), ("usuario", Cue::Login), ("admin", Cue::Login), ("root:", Cue::Login), ("root /", Cue::Login), ("unlock", Cue::Login), ("identify", Cue::Login), ("http-basic", Cue::Login), ("decrypt", Cue::Login), ("wifi", Cue::Login), ("wlan", Cue::Login), ("log in", Cue::Login), ("einlogg", Cue::Login), ("user=", Cue::Login), ("user:", Cue::Login), ("username", Cue::Login), (" / ", Cue::Login), ("креды", Cue::Login), ("доступ", Cue::Login), ("logar", Cue::Login), ("огин", Cue::Login), ("계정", Cue::Login),
    ("session", Cue::Session), ("cookie", Cue::Session), ("sid=", Cue::Session), ("csrf", Cue::Session), ("sessid", Cue::Session),
    ("mnemonic", Cue::Seed), ("seed", Cue::Seed), ("recovery", Cue::Seed), ("backup code", Cue::Seed), ("totp", Cue::Seed), ("otp", Cue::Seed), ("2fa", Cue::Seed), ("mfa", Cue::Seed), ("验证码", Cue::Seed), ("助记词", Cue::Seed), ("phrase", Cue::Seed), ("code", Cue::Seed), ("код", Cue::Seed), ("Код", Cue::Seed), (" kod", Cue::Seed), ("koodi", Cue::Seed), ("codul", Cue::Seed), ("código", Cue::Seed), ("codice", Cue::Seed), ("رمز", Cue::Seed), ("ओटीपी", Cue::Seed), ("認証コード", Cue::Seed), ("確認コード", Cue::Seed), (" tan ", Cue::Seed), ("인증번호", Cue::Seed), ("暗証番号", Cue::Seed),
    ("license", Cue::License), ("licence", Cue::License), ("lizenz", Cue::License), ("serial", Cue::License), ("activation", Cue::License),
    (" -p", Cue::Flag), (" -a ", Cue::Flag), (" -k ", Cue::Flag), (" -u ", Cue::Flag), (" -w ", Cue::Flag), (" /p:", Cue::Flag), (" -x ", Cue::Flag), (" -n '", Cue::Flag), ("\"-p", Cue::Flag), ("'-p", Cue::Flag),
    // At the end: the trees know a word by its number.
    ("pw for", Cue::Pass),
];

/// How far from the word a value is looked for, in bytes and in words. Words that also mean other things are believed
/// only nearby.
const FAR: (usize, u8) = (160, 12);
const NEAR: (usize, u8) = (72, 4);

impl Cue {
    pub(crate) const COUNT: usize = Cue::Flag as usize + 1;

    /// The kind of the secret that the word announces.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Cue::Password | Cue::Pass | Cue::Login | Cue::Flag => "password",
            Cue::Secret => "secret",
            Cue::Token => "token",
            Cue::Key => "api-key",
            Cue::Auth => "credential",
            Cue::Session => "session-cookie",
            Cue::Seed => "recovery-code",
            Cue::License => "license-key",
        }
    }

    /// How far a value may be from the word, in bytes and in words.
    pub(crate) fn reach(self) -> (usize, u8) {
        if self.is_strong() { FAR } else { NEAR }
    }

    /// Whether the word hardly means anything else.
    pub(crate) fn is_strong(self) -> bool {
        matches!(self, Cue::Password | Cue::Pass | Cue::Secret)
    }
}

/// Whether the text after the word makes it another one, which announces nothing: `passed`, `tokens`, `keyboard`.
pub(crate) fn is_common_word(cue: Cue, rest: &[u8]) -> bool {
    match cue {
        Cue::Token => rest.first() == Some(&b's') || rest.starts_with(b"i"),
        Cue::Pass => starts_with_any(rest, &["ed", "ing", "es", "ive"]) || is_longer_cue(rest),
        Cue::Key => rest.starts_with(b"board") || rest.starts_with(b"word") || rest.starts_with(b"s"),
        Cue::Auth => rest.starts_with(b"or") && !rest.starts_with(b"ori"),
        Cue::Session => rest.starts_with(b"Id") || rest.starts_with(b"s"),
        Cue::Seed => rest.starts_with(b"s") || rest.starts_with(b"e") || rest.starts_with(b"c"),
        _ => false,
    }
}

/// Whether `pass` is the begin of a longer word of the table.
fn is_longer_cue(rest: &[u8]) -> bool {
    starts_with_any(rest, &["word", "wd", "phrase", "code", "wort"])
}

fn starts_with_any(rest: &[u8], known: &[&str]) -> bool {
    known
        .iter()
        .any(|word| rest.get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes())))
}
