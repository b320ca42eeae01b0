# Builds Loci from this checkout: `nix run github:loci-dev/loci -- search WORDS`, or `nix profile install github:loci-dev/loci`.
# docs/contributing/releasing.md says how it is checked.
{
  description = "Local-first memory and context engine for coding agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      package = pkgs: pkgs.rustPlatform.buildRustPackage {
        pname = "loci";
        version = manifest.workspace.package.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        cargoBuildFlags = [ "--package" "loci" "--bin" "loci" ];
        # The tests start agents, browsers and other programs that the sandbox does not have; .ci/run runs them.
        doCheck = false;
        nativeBuildInputs = [ pkgs.installShellFiles ];
        postInstall = ''
          for shell in bash zsh fish; do
            $out/bin/loci completions $shell > loci.$shell
            installShellCompletion --cmd loci --$shell loci.$shell
          done
          $out/bin/loci man > loci.1
          installManPage loci.1
        '';
        meta = {
          description = "Local-first memory and context engine for coding agents";
          homepage = "https://github.com/loci-dev/loci";
          license = [ pkgs.lib.licenses.mit pkgs.lib.licenses.asl20 ];
          mainProgram = "loci";
        };
      };
      each = make: builtins.listToAttrs (map (system: { name = system; value = make nixpkgs.legacyPackages.${system}; }) systems);
    in
    {
      packages = each (pkgs: { default = package pkgs; });
      apps = builtins.mapAttrs
        (system: packages: { default = { type = "app"; program = "${packages.default}/bin/loci"; }; })
        self.packages;
    };
}
