//! A Garage cluster of three nodes on loopback, for tests of sync: a real distributed store in which every object has three
//! copies. Each node can be killed and started again.
//!
//! Does not install Garage.

use crate::object_storage::{cache_folder, free_port};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NODES: usize = 3;
const START: Duration = Duration::from_secs(60);
/// Known to this cluster only, which lives as long as the test.
const RPC_SECRET: &str = "1799bccfd7411eddcf9ebd316bc1f5287ad12a68094e1c6ac6abde7e6feae1ec";

struct Node {
    config: PathBuf,
    s3_port: u16,
    process: Option<Child>,
}

/// Ends with the test.
pub struct GarageCluster {
    _folder: TempDir,
    program: PathBuf,
    nodes: Vec<Node>,
    key: (String, String),
}

impl Drop for GarageCluster {
    fn drop(&mut self) {
        (0..NODES).for_each(|node| self.kill(node));
    }
}

impl GarageCluster {
    /// Starts the cluster with an empty bucket `loci`.
    pub fn start() -> GarageCluster {
        let program = cache_folder().join("storage/bin/garage");
        assert!(program.exists(), "needs garage: no {}; see CONTRIBUTING.md", program.display());
        let folder = TempDir::new().unwrap();
        let nodes = (1..=NODES).map(|number| write_node(&folder.path().join(number.to_string()))).collect();
        let key = Default::default();
        let mut cluster = GarageCluster { _folder: folder, program, nodes, key };
        (0..NODES).for_each(|node| cluster.restart(node));
        cluster.connect_nodes();
        cluster.create_bucket();
        cluster
    }

    fn connect_nodes(&self) {
        let ids: Vec<String> = (0..NODES).map(|node| self.must_run(node, &["node", "id", "-q"])).collect();
        for id in &ids[1..] {
            self.must_run(0, &["node", "connect", id.trim()]);
        }
        for (number, id) in ids.iter().enumerate() {
            let id = id.split('@').next().unwrap();
            self.must_run(0, &["layout", "assign", "-z", &format!("zone{number}"), "-c", "1G", id]);
        }
        self.must_run(0, &["layout", "apply", "--version", "1"]);
    }

    fn create_bucket(&mut self) {
        // The nodes need a moment to learn the layout.
        wait_until("the bucket", || self.run(0, &["bucket", "create", "loci"]).is_some());
        let made = self.must_run(0, &["key", "create", "loci"]);
        let field = |name: &str| {
            let line = made.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().last().unwrap_or_default().to_owned()
        };
        self.key = (field("Key ID"), field("Secret key"));
        self.must_run(0, &["bucket", "allow", "--read", "--write", "--owner", "loci", "--key", "loci"]);
    }

    fn run(&self, node: usize, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(&self.nodes[node].config).args(arguments).stdin(Stdio::null());
        let done = command.output().unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn must_run(&self, node: usize, arguments: &[&str]) -> String {
        self.run(node, arguments).unwrap_or_else(|| panic!("garage {} failed", arguments.join(" ")))
    }

    /// The variables with which `s3://loci` is the bucket, through one of the nodes, which are numbered from 0.
    pub fn variables(&self, node: usize) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}", self.nodes[node].s3_port);
        let variables = [
            ("AWS_ENDPOINT", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "garage"),
            ("AWS_ACCESS_KEY_ID", &self.key.0),
            ("AWS_SECRET_ACCESS_KEY", &self.key.1),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// Ends a node at once, as a power cut would.
    pub fn kill(&mut self, node: usize) {
        if let Some(mut process) = self.nodes[node].process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    pub fn restart(&mut self, node: usize) {
        let config = &self.nodes[node].config;
        let log = fs::File::create(config.with_extension("log")).unwrap();
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(config).arg("server").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.nodes[node].process = Some(command.spawn().unwrap());
        wait_until("a node", || self.run(node, &["status"]).is_some());
    }
}

fn wait_until(what: &str, is_ready: impl Fn() -> bool) {
    let deadline = Instant::now() + START;
    while !is_ready() {
        assert!(Instant::now() < deadline, "{what} of Garage did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn write_node(folder: &Path) -> Node {
    fs::create_dir_all(folder.join("meta")).unwrap();
    fs::create_dir_all(folder.join("data")).unwrap();
    let (config, s3_port, rpc_port) = (folder.join("garage.toml"), free_port(), free_port());
    let folder = folder.display();
    let text = format!(
        "metadata_dir = \"{folder}/meta\"\ndata_dir = \"{folder}/data\"\ndb_engine = \"sqlite\"\nreplication_factor = 3\n\
         rpc_bind_addr = \"127.0.0.1:{rpc_port}\"\nrpc_public_addr = \"127.0.0.1:{rpc_port}\"\nrpc_secret = \"{RPC_SECRET}\"\n\
         [s3_api]\ns3_region = \"garage\"\napi_bind_addr = \"127.0.0.1:{s3_port}\"\nroot_domain = \".s3.localhost\"\n"
    );
    fs::write(&config, text).unwrap();
    Node { config, s3_port, process: None }
}
