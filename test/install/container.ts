/**
 * Builds the Containerfile and runs its image: npm run test:container, as root, with buildah and debootstrap. It skips
 * nothing: what is missing is a failure. No image registry is needed, because debootstrap makes the system that replaces
 * the two base images; the build image gets this machine's Node.js and npm besides.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";

const repository = join(import.meta.dirname, "../..");
const place = mkdtempSync(join(tmpdir(), "signet-container-"));
const images = {
  base: "localhost/signet-test-debian",
  build: "localhost/signet-test-node",
  signet: "localhost/signet-test",
};
const user = 65532;

/** `sh -c` with the root, the data and a command: a read-only root with /dev, /proc and the volume, and a loopback device. */
const prepareRoot = `set -e
root=$1 data=$2
shift 2
mount --bind "$root" "$root"
mount --bind "$data" "$root/var/lib/signet"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
for one in null random urandom; do : > "$root/dev/$one"; mount --bind "/dev/$one" "$root/dev/$one"; done
mount -o remount,bind,ro "$root"
ip link set lo up
exec chroot "$root" "$@"`;

/** The output of the program. Fails when the program fails. */
function run(program: string, ...args: readonly string[]): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 2 ** 26 });
  assert.ifError(error);
  assert.equal(status, 0, `${program} ${args.join(" ")}\n${stdout.slice(-4000)}${stderr.slice(-4000)}`);
  return stdout.trim();
}

/** The lines of buildah's `inspect` that this test reads. */
interface ImageConfig {
  readonly OCIv1: {
    readonly config: { User: string; Entrypoint: string[]; Cmd: string[]; WorkingDir: string; Env: string[] };
  };
  readonly Docker: { readonly config: { Healthcheck: { Test: [string, string] } } };
}

describe("the Containerfile", () => {
  let config: ImageConfig;
  let root: string;
  const containers: string[] = [];

  /** A working container of an image; `buildah rm` takes it away at the end. */
  function containerOf(image: string): string {
    const name = run("buildah", "from", "--pull-never", image);
    containers.push(name);
    return name;
  }

  before(() => {
    assert.equal(process.getuid?.(), 0, "debootstrap and read-only file systems need root");
    makeBaseImages();
    const clone = join(place, "clone");
    run("git", "clone", "--quiet", repository, clone);
    run(
      "buildah",
      ...["build", "--isolation", "chroot", "--format", "docker", "--pull-never", "--tag", images.signet],
      ...["--build-arg", `BUILD_IMAGE=${images.build}`, "--build-arg", `RUNTIME_IMAGE=${images.base}`, clone],
    );
    config = JSON.parse(run("buildah", "inspect", "--type", "image", images.signet)) as ImageConfig;
    root = run("buildah", "mount", containerOf(images.signet));
  });
  after(() => {
    for (const name of containers) spawnSync("buildah", ["rm", name]);
    spawnSync("buildah", ["rmi", "--force", ...Object.values(images)]);
    rmSync(place, { recursive: true, force: true });
  });

  function makeBaseImages(): void {
    const debian = join(place, "debian");
    run("debootstrap", "--variant=minbase", "bookworm", debian);
    const base = containerOf("scratch");
    run("buildah", "add", "--quiet", base, debian, "/");
    run("buildah", "config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", base);
    run("buildah", "commit", "--quiet", base, images.base);
    const npm = dirname(dirname(realpathSync(run("which", "npm"))));
    const added = join(place, "node");
    mkdirSync(join(added, "bin"), { recursive: true });
    cpSync(process.execPath, join(added, "bin/node"));
    cpSync(npm, join(added, "lib/node_modules/npm"), { recursive: true });
    const build = containerOf(images.base);
    run("buildah", "add", "--quiet", build, added, "/usr/local");
    run(
      "buildah",
      "run",
      "--isolation",
      "chroot",
      build,
      "--",
      "ln",
      "-s",
      "../lib/node_modules/npm/bin/npm-cli.js",
      "/usr/local/bin/npm",
    );
    // On a machine that reaches the registry through a proxy with a CA of its own, npm in the build needs this CA too.
    const ownCas = process.env["NODE_EXTRA_CA_CERTS"];
    if (ownCas !== undefined) {
      run("buildah", "add", "--quiet", build, ownCas, "/etc/own-cas.crt");
      run("buildah", "config", "--env", "NODE_EXTRA_CA_CERTS=/etc/own-cas.crt", build);
    }
    run("buildah", "commit", "--quiet", build, images.build);
  }

  /**
   * Starts the image's process, or another one, as `podman run --read-only --cap-drop all` would. util-linux takes the place
   * of a container engine: those need control groups, which a container or a small machine does not always hand out.
   */
  function start(name: string, args: readonly string[]) {
    const data = join(place, name);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, user, user);
    const environment = config.OCIv1.config.Env;
    const namespaces = ["--mount", "--pid", "--net", "--fork", "--kill-child"];
    const child = spawn("unshare", [...namespaces, "sh", "-c", prepareRoot, "sh", root, data, ...asUser(args)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    /** The first process in the container, by its id outside. */
    const processId = (): string =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0] ?? "";

    function asUser(command: readonly string[]): string[] {
      const [uid = "", gid = ""] = config.OCIv1.config.User.split(":");
      const rights = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
      return ["/usr/bin/setpriv", "--reuid", uid, "--regid", gid, ...rights, "env", "-i", ...environment, ...command];
    }
    return {
      /** Resolves with the exit code. */
      ended: new Promise<number | null>((resolve) => child.once("exit", resolve)),
      lines: createInterface({ input: child.stdout }),
      /** Runs a command in the container. */
      exec: (...command: readonly string[]) =>
        spawnSync(
          "nsenter",
          ["--target", processId(), "--mount", "--pid", "--net", "chroot", root, ...asUser(command)],
          { encoding: "utf8", timeout: 30_000 },
        ),
      terminate: () => process.kill(Number(processId()), "SIGTERM"),
      remove: () => child.kill("SIGKILL"),
    };
  }

  const healthCheck = (): string[] => ["/bin/sh", "-c", config.Docker.config.Healthcheck.Test[1]];

  it("builds an image whose process is not root", () => {
    assert.equal(config.OCIv1.config.User, `${user}:${user}`);
  });

  it("serves on a read-only root file system without capabilities, and reports that it is healthy", async () => {
    const { Entrypoint: entry, Cmd: command } = config.OCIv1.config;
    const server = start("server", [...entry, ...command]);
    try {
      for await (const line of server.lines) if (line.startsWith("ready in")) break;
      assert.match(server.exec("cat", "/proc/1/status").stdout, /^Uid:\t65532[\s\S]*^CapEff:\t0{16}$/m);
      assert.match(server.exec("touch", "/usr/lib/signet/file").stderr, /Read-only file system/);
      const health = server.exec(...healthCheck());
      assert.equal(health.status, 0, health.stderr);
      const token = server.exec(
        "signet",
        ..."token create default --kubeconfig /var/lib/signet/admin.kubeconfig".split(" "),
      );
      assert.match(token.stdout, /^eyJ/, token.stderr);
      server.terminate();
      assert.equal(await server.ended, 0);
    } finally {
      server.remove();
    }
  });

  it("reports that it is unhealthy while no server answers", async () => {
    const idle = start("idle", ["sh", "-c", "echo started; exec sleep 60"]);
    try {
      for await (const line of idle.lines) if (line === "started") break;
      assert.equal(idle.exec(...healthCheck()).status, 1);
    } finally {
      idle.remove();
    }
  });

  it("finds for arm64 every package with machine code that it finds for x64", () => {
    const lock = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
      packages: Record<string, { cpu?: string[]; os?: string[]; dev?: boolean }>;
    };
    const forLinux = (cpu: string) =>
      Object.entries(lock.packages)
        .filter(([, { dev, os, cpu: cpus }]) => dev !== true && os?.includes("linux") && cpus?.includes(cpu))
        .map(([path]) => path.replace(cpu, "CPU"))
        .filter((path) => !path.endsWith("-musl"));
    assert.ok(forLinux("x64").length > 0);
    assert.deepEqual(forLinux("arm64"), forLinux("x64"));
  });
});
