//! The table of known secrets: one row each, with its pattern and a description.
//!
//! Does not know how a row is applied (`hunt`), nor what makes a value a placeholder (`plausible`).
//!
//! Formats and lengths follow vendors' documentation and gitleaks (MIT, Zachary Rice) as far as known; they were not
//! checked against either row by row. The patterns are our own, and looser than exact where a length is uncertain.

/// Incremented when a change of a rule or check affects what is found, so that derived data is rebuilt.
pub const RULES_VERSION: u32 = 8;

/// Where a rule's pattern is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    /// The secret begins with one of the words, spelled as in the table.
    AtStart,
    /// One of the words is inside the secret, at most this many bytes after the start of the match.
    Inside(usize),
    /// The secret is on the same line as one of the words, at most this many bytes before or after it.
    Near(usize),
    /// The secret is assigned to a name that contains one of the words, or follows them on the line.
    ByName,
    /// Found by the file that parses this format. Words and pattern are empty.
    Parsed,
}

pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    pub(crate) words: &'static [&'static str],
    pub(crate) anchor: Anchor,
    /// In the syntax of `regex` without Unicode. Group 1, if present, is the secret.
    pub(crate) pattern: &'static str,
    pub(crate) description: &'static str,
}

const fn at_start(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    says: &'static str,
) -> Rule {
    Rule { kind, words, anchor: Anchor::AtStart, pattern, description: says }
}

const fn inside_secret(
    kind: &'static str,
    words: &'static [&'static str],
    bytes: usize,
    pattern: &'static str,
    says: &'static str,
) -> Rule {
    Rule { kind, words, anchor: Anchor::Inside(bytes), pattern, description: says }
}

const fn near_word(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    says: &'static str,
) -> Rule {
    Rule { kind, words, anchor: Anchor::Near(200), pattern, description: says }
}

const fn by_name(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    says: &'static str,
) -> Rule {
    Rule { kind, words, anchor: Anchor::ByName, pattern, description: says }
}

const fn parsed_rule(kind: &'static str, says: &'static str) -> Rule {
    Rule { kind, words: &[], anchor: Anchor::Parsed, pattern: "", description: says }
}

/// More specific rows come first: where two rows match the same bytes, the first determines the kind.
#[rustfmt::skip] // one row per line, so that the table can be checked by eye
pub(crate) const RULES: &[Rule] = &[
    // Code hosting.
    at_start("github-pat", &["ghp_"], r"ghp_[A-Za-z0-9]{36,}", "GitHub personal access token, classic."),
    at_start("github-fine-grained-pat", &["github_pat_"], r"github_pat_\w{70,}", "GitHub personal access token, fine-grained."),
    at_start("github-oauth", &["gho_"], r"gho_[A-Za-z0-9]{36,}", "GitHub OAuth access token."),
    at_start("github-app", &["ghu_", "ghs_"], r"gh[us]_[A-Za-z0-9]{36,}", "GitHub App user or installation token."),
    at_start("github-refresh", &["ghr_"], r"ghr_[A-Za-z0-9]{36,}", "GitHub refresh token."),
    at_start("gitlab-pat", &["glpat-"], r"glpat-[\w-]{20,}(?:\.[0-9a-z]{9})?", "GitLab personal access token."),
    at_start("gitlab-token", &["gldt-", "glrt-", "glcbt-", "glptt-", "glagent-", "gloas-", "glimt-", "glsoat-", "glffct-", "glft-"], r"gl(?:dt|rt|cbt|ptt|agent|oas|imt|soat|ffct|ft)-[\w.-]{20,}", "GitLab deploy, runner, job, trigger, agent or feed token."),
    at_start("gitlab-runner-registration", &["GR1348941"], r"GR1348941[\w-]{20,50}", "GitLab runner registration token."),
    at_start("bitbucket-app-password", &["ATBB"], r"ATBB[A-Za-z0-9_=.-]{32,64}", "Bitbucket app password."),
    at_start("atlassian-token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[\w=-]{100,}", "Atlassian API token."),
    at_start("sourcegraph-token", &["sgp_", "slk_"], r"(?:sgp|slk)_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40,64}", "Sourcegraph access token."),

    // Cloud providers.
    at_start("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}", "AWS access key id."),
    at_start("aws-bedrock-key", &["ABSK", "bedrock-api-key-"], r"(?:ABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,})", "AWS Bedrock API key."),
    by_name("aws-secret-key", &["secretaccesskey", "awssecret"], r"[A-Za-z0-9/+]{40}", "AWS secret access key."),
    by_name("aws-session-token", &["sessiontoken", "securitytoken"], r"[A-Za-z0-9/+]{100,}={0,2}", "AWS session token."),
    at_start("gcp-api-key", &["AIza"], r"AIza[\w-]{35}", "Google API key."),
    at_start("google-oauth-token", &["ya29."], r"ya29\.[\w-]{20,}(?:\.[\w-]+)?", "Google OAuth access token."),
    at_start("google-refresh-token", &["1//0"], r"1//0[\w-]{40,}", "Google OAuth refresh token."),
    at_start("google-client-secret", &["GOCSPX-"], r"GOCSPX-[\w-]{28}", "Google OAuth client secret."),
    at_start("azure-sas", &["sig="], r"sig=([A-Za-z0-9+/%]{40,60}(?:%3[dD]|=))", "Azure shared access signature in a URL."),
    inside_secret("azure-client-secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], 3, r"[\w~.-]{3}\dQ~[\w~.-]{31,34}", "Azure AD (Entra) client secret."),
    by_name("azure-storage-key", &["accountkey", "storagekey", "azurestorage", "sharedaccesskey", "azure"], r"[A-Za-z0-9+/]{43}(?:[A-Za-z0-9+/]{43}=)?=", "Azure storage or service bus key."),
    by_name("azure-devops-pat", &["azuredevops", "azdo", "vsts"], r"[a-z2-7]{52}|[A-Za-z0-9]{84}", "Azure DevOps personal access token."),
    at_start("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{64}", "DigitalOcean token."),
    at_start("heroku-key", &["HRKU-"], r"HRKU-[\w-]{36,}", "Heroku API key."),
    by_name("heroku-key", &["heroku"], r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "Heroku API key."),
    by_name("cloudflare-token", &["cloudflare", "cfapi", "cftoken"], r"[\w-]{37,45}|v1\.0-[0-9a-f]{24}-[0-9a-f]{146}", "Cloudflare API token or key."),
    at_start("cloudflare-origin-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}", "Cloudflare origin CA key."),
    at_start("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"], r"(?:vc[piark]_[A-Za-z0-9]{24,80}|vercel_blob_rw_\w{30,80})", "Vercel token."),
    by_name("vercel-token", &["vercel"], r"[A-Za-z0-9]{24}", "Vercel token."),
    at_start("netlify-token", &["nfp_", "nfo_", "nfc_", "nfu_"], r"nf[pocu]_[A-Za-z0-9]{36,60}", "Netlify token."),
    by_name("netlify-token", &["netlify"], r"[\w-]{40,46}", "Netlify token."),
    at_start("fly-token", &["fo1_", "fm1_", "fm2_", "fm1r_", "fm1a_"], r"(?:fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{60,}={0,3})", "Fly.io token."),
    at_start("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,60}", "Render API key."),
    at_start("alibaba-key-id", &["LTAI"], r"LTAI[A-Za-z0-9]{16,24}", "Alibaba Cloud access key id."),
    at_start("tencent-key-id", &["AKID"], r"AKID[A-Za-z0-9]{32}", "Tencent Cloud secret id."),
    at_start("openshift-token", &["sha256~"], r"sha256~[\w-]{43}", "OpenShift user token."),
    at_start("tailscale-key", &["tskey-"], r"tskey-[a-z]{3,12}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{16,60}", "Tailscale key."),
    by_name("fastly-token", &["fastly"], r"[\w-]{32}", "Fastly API token."),
    by_name("ngrok-token", &["ngrok"], r"[A-Za-z0-9]{20,30}_[A-Za-z0-9]{18,30}|[A-Za-z0-9_]{40,60}", "ngrok authentication token."),

    // Hosted databases.
    at_start("supabase-token", &["sbp_", "sb_secret_"], r"(?:sbp_(?:v0_|oauth_)?[0-9a-f]{40}|sb_secret_[\w-]{24,60})", "Supabase access token or secret key."),
    at_start("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth|app)_[\w.=-]{32,64}", "PlanetScale token or password."),
    at_start("neon-key", &["napi_"], r"napi_[a-z0-9]{40,80}", "Neon API key."),
    at_start("databricks-token", &["dapi"], r"dapi[0-9a-f]{32}(?:-\d)?", "Databricks access token."),
    at_start("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9]{4,10}_[A-Za-z0-9]{40,80}", "Pinecone API key."),
    by_name("algolia-key", &["algolia"], r"[0-9a-f]{32}", "Algolia API key."),

    // Model providers.
    at_start("anthropic-key", &["sk-ant-"], r"sk-ant-(?:[a-z]{3,8}\d{2}-)?[\w-]{24,}", "Anthropic API key or token."),
    at_start("openrouter-key", &["sk-or-"], r"sk-or-(?:v\d-)?[0-9a-f]{64}", "OpenRouter API key."),
    at_start("langfuse-key", &["sk-lf-"], r"sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "Langfuse secret key."),
    at_start("openai-project-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], r"sk-(?:proj|svcacct|admin|None)-[\w-]{40,}", "OpenAI project, service account or admin key."),
    at_start("openai-key", &["sk-"], r"sk-[A-Za-z0-9]{32,64}", "OpenAI API key, or a key of another service in the same format."),
    at_start("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{48,56}", "Groq API key."),
    at_start("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37,40}", "Replicate API token."),
    at_start("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,60}", "Perplexity API key."),
    at_start("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{70,90}", "xAI API key."),
    at_start("huggingface-token", &["hf_", "api_org_"], r"(?:hf|api_org)_[A-Za-z0-9]{34,40}", "Hugging Face token."),
    at_start("fireworks-key", &["fw_"], r"fw_[A-Za-z0-9]{22,40}", "Fireworks API key."),
    at_start("together-key", &["tgp_v1_"], r"tgp_v1_[\w-]{43}", "Together API key."),
    at_start("cerebras-key", &["csk-"], r"csk-[a-z0-9]{40,60}", "Cerebras API key."),
    at_start("nvidia-key", &["nvapi-"], r"nvapi-[\w-]{60,80}", "NVIDIA API key."),
    at_start("elevenlabs-key", &["sk_"], r"sk_[0-9a-f]{48}", "ElevenLabs API key."),
    at_start("jina-key", &["jina_"], r"jina_[A-Za-z0-9_-]{40,70}", "Jina API key."),
    at_start("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32,40}", "Tavily API key."),
    at_start("firecrawl-key", &["fc-"], r"fc-[0-9a-f]{32}", "Firecrawl API key."),
    at_start("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", "LangSmith API key."),
    at_start("voyage-key", &["pa-"], r"pa-[\w-]{43}", "Voyage API key."),
    by_name("mistral-key", &["mistral"], r"[A-Za-z0-9]{32}", "Mistral API key."),
    by_name("cohere-key", &["cohere", "coapi"], r"[A-Za-z0-9]{40}", "Cohere API key."),
    by_name("deepgram-key", &["deepgram"], r"[0-9a-f]{40}", "Deepgram API key."),

    // Messaging and mail.
    at_start("slack-token", &["xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxo-", "xoxc-", "xoxd-", "xoxe."], r"xox[abceoprsd](?:\.xox[bp])?-[A-Za-z0-9%/+-]{20,}", "Slack token."),
    at_start("slack-app-token", &["xapp-", "xwfp-"], r"(?:xapp|xwfp)-[A-Za-z0-9-]{20,}", "Slack app-level or workflow token."),
    at_start("slack-webhook", &["hooks.slack.com"], r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{30,80})", "Slack webhook URL, which allows posting."),
    at_start("discord-webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/(\d{17,20}/[\w-]{60,80})", "Discord webhook URL, which allows posting."),
    near_word("discord-token", &["discord"], r"[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}", "Discord bot token."),
    inside_secret("telegram-token", &[":AA"], 13, r"(?:bot)?(\d{8,10}:AA[\w-]{33})", "Telegram bot token, also inside a bot URL."),
    at_start("teams-webhook", &["webhook.office.com/"], r"webhook\.office\.com/(webhookb2/[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})", "Microsoft Teams webhook."),
    near_word("twilio-key", &["twilio"], r"SK[0-9a-f]{32}", "Twilio API key."),
    by_name("twilio-auth-token", &["twilio"], r"[0-9a-f]{32}", "Twilio authentication token."),
    at_start("sendgrid-key", &["SG."], r"SG\.[\w-]{16,32}\.[\w-]{32,64}", "SendGrid API key."),
    at_start("mailgun-key", &["key-"], r"key-[0-9a-f]{32}", "Mailgun API key."),
    near_word("mailgun-key", &["mailgun"], r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}", "Mailgun API key."),
    inside_secret("mailchimp-key", &["-us"], 33, r"[0-9a-f]{32}-us\d{1,2}", "Mailchimp API key."),
    at_start("brevo-key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "Brevo (Sendinblue) key."),
    at_start("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}", "Resend API key."),

    // Payments and shops.
    at_start("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"], r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}", "Stripe secret or restricted key."),
    at_start("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{32,80}", "Stripe webhook signing secret."),
    at_start("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "Shopify token or shared secret."),
    at_start("square-token", &["sq0atp-", "sq0csp-", "EAAA"], r"(?:sq0atp-[\w-]{22}|sq0csp-[\w-]{43}|EAAA[\w-]{60})", "Square access token or secret."),
    near_word("paypal-token", &["paypal", "braintree"], r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "PayPal or Braintree access token."),
    at_start("shippo-token", &["shippo_"], r"shippo_(?:live|test)_[0-9a-f]{40}", "Shippo API token."),
    at_start("easypost-key", &["EZAK", "EZTK"], r"EZ[AT]K[A-Za-z0-9]{54}", "EasyPost API key."),
    at_start("plaid-token", &["access-sandbox-", "access-development-", "access-production-"], r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "Plaid access token."),

    // Package registries.
    at_start("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}", "npm access token."),
    at_start("pypi-token", &["pypi-AgEI"], r"pypi-AgEI[\w-]{50,}", "PyPI upload token."),
    at_start("crates-io-token", &["cio"], r"cio[A-Za-z0-9]{32}", "crates.io API token."),
    at_start("rubygems-key", &["rubygems_"], r"rubygems_[0-9a-f]{48}", "RubyGems API key."),
    at_start("docker-pat", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[\w-]{27,60}", "Docker Hub access token."),
    at_start("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}", "NuGet API key."),
    at_start("clojars-token", &["CLOJARS_"], r"CLOJARS_[a-z0-9]{60}", "Clojars deploy token."),

    // Monitoring and CI.
    by_name("datadog-key", &["datadog", "ddapi", "ddapp", "ddclient"], r"[0-9a-f]{32}(?:[0-9a-f]{8})?", "Datadog API or application key."),
    at_start("newrelic-key", &["NRAK-", "NRII-", "NRRA-", "NRJS-", "NRAA-"], r"NR(?:AK|II|RA|JS|AA)-[A-Za-z0-9_-]{19,42}", "New Relic key."),
    inside_secret("newrelic-license", &["NRAL"], 36, r"[0-9a-f]{36}NRAL", "New Relic licence key."),
    at_start("grafana-token", &["glc_", "glsa_"], r"(?:glc_[A-Za-z0-9+/]{32,}={0,3}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})", "Grafana cloud or service account token."),
    at_start("sentry-token", &["sntrys_", "sntryu_"], r"(?:sntrys_[A-Za-z0-9+/=_-]{60,}|sntryu_[0-9a-f]{64})", "Sentry token."),
    at_start("dynatrace-token", &["dt0c01.", "dt0s01.", "dt0s16."], r"dt0[cs](?:01|16)\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "Dynatrace token."),
    at_start("posthog-key", &["phx_"], r"phx_[A-Za-z0-9_-]{40,60}", "PostHog personal API key."),
    at_start("buildkite-token", &["bkua_"], r"bkua_[0-9a-f]{40}", "Buildkite API token."),
    at_start("circleci-token", &["CCIPAT_", "CCIPRJ_"], r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}", "CircleCI token."),
    at_start("sonarqube-token", &["squ_", "sqa_", "sqp_"], r"sq[uap]_[0-9a-f]{40}", "SonarQube token."),
    at_start("launchdarkly-key", &["sdk-", "api-"], r"(?:sdk|api)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "LaunchDarkly key."),
    at_start("octopus-key", &["API-"], r"API-[A-Z0-9]{26,32}", "Octopus Deploy API key."),
    at_start("pulumi-token", &["pul-"], r"pul-[0-9a-f]{40}", "Pulumi access token."),
    inside_secret("terraform-token", &[".atlasv1."], 14, r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", "HCP Terraform token."),
    at_start("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[\w-]{24,}", "HashiCorp Vault token."),
    near_word("vault-token", &["vault"], r"s\.[A-Za-z0-9]{24}", "HashiCorp Vault token, legacy format."),
    at_start("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", "Doppler token."),
    at_start("infracost-key", &["ico-"], r"ico-[A-Za-z0-9]{32}", "Infracost API key."),
    at_start("prefect-key", &["pnu_"], r"pnu_[A-Za-z0-9]{36}", "Prefect API key."),
    at_start("1password-token", &["ops_eyJ"], r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,3}", "1Password service account token."),

    // Documents, design and issue tracking.
    at_start("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}", "Linear API key."),
    at_start("notion-token", &["ntn_", "secret_"], r"(?:ntn_\d{11}[A-Za-z0-9]{32,35}|secret_[A-Za-z0-9]{43})", "Notion integration token."),
    at_start("figma-token", &["figd_", "figo_", "figu_"], r"fig[dou]_[\w-]{38,44}", "Figma token."),
    at_start("airtable-pat", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "Airtable personal access token."),
    at_start("hubspot-token", &["pat-na", "pat-eu"], r"pat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "HubSpot private app token."),
    at_start("contentful-token", &["CFPAT-"], r"CFPAT-[\w-]{43}", "Contentful personal access token."),
    at_start("postman-key", &["PMAK-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "Postman API key."),
    at_start("typeform-token", &["tfp_"], r"tfp_[\w.=-]{50,64}", "Typeform token."),
    at_start("readme-key", &["rdme_"], r"rdme_[a-z0-9]{70}", "ReadMe API key."),
    at_start("clickup-token", &["pk_"], r"pk_\d{5,10}_[A-Z0-9]{32}", "ClickUp personal token."),
    at_start("mapbox-secret", &["sk.eyJ"], r"sk\.eyJ[A-Za-z0-9_-]{50,}\.[A-Za-z0-9_-]{20,30}", "Mapbox secret token."),
    at_start("dropbox-token", &["sl."], r"sl\.(?:u\.)?[\w-]{120,}", "Dropbox short-lived token."),
    at_start("facebook-token", &["EAA"], r"EAA[A-Za-z0-9]{90,}", "Facebook access token."),
    at_start("twitter-bearer", &["AAAAAAAAAAAAAAAAAAAAA"], r"A{21}[\w%]{60,}", "X (Twitter) bearer token."),

    // Our own.
    at_start("loci-recovery-phrase", &["loci1", "LOCI1", "Loci1"], r"(?:loci|LOCI|Loci)1(?:[-_ .,/:\t]{0,2}(?:\r?\n[ \t]{0,16})?[0-9A-Za-z]{5}){7}", "Recovery phrase of `loci sync`, with its prefix or known by its checksum."),

    // Formats without a vendor.
    at_start("jwt", &["eyJ"], r"eyJ[\w-]{10,}\.ey[JAIQKLMNO][\w-]{8,}\.[\w-]{10,}", "Signed JSON web token."),
    at_start("age-secret-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}", "age secret key."),
    by_name("django-secret-key", &["djangosecretkey"], r"[!-~]{40,80}", "Django's SECRET_KEY."),
    parsed_rule("private-key", "Private key of any type between BEGIN and END lines, even if truncated."),
    parsed_rule("pgp-private-key", "PGP private key block."),
    parsed_rule("putty-private-key", "Private lines of a PuTTY key file."),
    parsed_rule("url-password", "Password in a URL: scheme://user:password@host."),
    parsed_rule("bearer-token", "Token after `Bearer`."),
    parsed_rule("basic-auth", "Base64-encoded user and password of `Authorization: Basic`."),
    parsed_rule("authorization", "Credentials in an Authorization header with another scheme."),
    parsed_rule("user-password", "Password given to a command as `-u user:password`."),


    // Recognised by the command, statement or sentence around them (`context`).
    parsed_rule("pin", "PIN in a sentence."),
    parsed_rule("seed-phrase", "Words that restore a wallet."),
    parsed_rule("recovery-code", "Recovery or backup codes of an account."),
    parsed_rule("totp-seed", "Seed of one-time passwords."),
    parsed_rule("wifi-psk", "Key of a wireless network."),
    parsed_rule("session-cookie", "Cookie that identifies a session."),
    parsed_rule("signed-url", "Signature that grants access to a URL."),
    parsed_rule("oauth-code", "Authorization code, device code or application ID in a URL."),
    parsed_rule("webhook", "Webhook URL, which allows posting."),
    parsed_rule("stream-key", "Key of a live stream."),
    parsed_rule("password-hash", "Hash of a password: crypt, bcrypt, argon2."),
    parsed_rule("artifactory-key", "Artifactory API key."),
    parsed_rule("honeycomb-key", "Honeycomb ingest key."),
    parsed_rule("yandex-token", "Yandex OAuth token."),
    parsed_rule("extended-private-key", "Extended private key of a wallet."),
    parsed_rule("minisign-key", "minisign secret key."),
    parsed_rule("byte-key", "Secret key as a list of bytes."),
    parsed_rule("license-key", "Licence key."),

    // Recognised only by the name.
    parsed_rule("password", "Value assigned to a name that contains password, passphrase or pwd."),
    parsed_rule("api-key", "Value assigned to a name that contains API key, access key or similar."),
    parsed_rule("token", "Value assigned to a name that contains token."),
    parsed_rule("secret", "Value assigned to a name that contains secret."),
    parsed_rule("credential", "Value assigned to a name that contains credential or auth."),
];

/// Every kind with its description, once, in table order.
pub fn secret_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    let first = |at: usize| RULES[..at].iter().all(|before| before.kind != RULES[at].kind);
    (0..RULES.len()).filter(move |&at| first(at)).map(|at| (RULES[at].kind, RULES[at].description))
}
