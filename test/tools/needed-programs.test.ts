import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const root = join(import.meta.dirname, "../..");

for (const [program, message] of [
  ["bench/run.ts", "run.ts: not installed: h2load (on Debian: apt-get install nghttp2-client)\n"],
  [
    "bench/workers-bench.ts",
    "workers-bench.ts: not installed: h2load, taskset (on Debian: apt-get install nghttp2-client util-linux)\n",
  ],
  ["test/faults/run.ts", "run.ts: not installed: etcd (on Debian: apt-get install etcd-server)\n"],
] as const) {
  test(`${program} says in one line what to install where a program that it starts is missing`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, program)], {
      env: { ...process.env, PATH: join(root, "test") },
      encoding: "utf8",
    });
    assert.deepEqual({ status, stdout, stderr }, { status: 2, stdout: "", stderr: message });
  });
}

test("each program for developers that starts h2load or etcd says when it is missing", () => {
  const programs = globSync(["bench/*.ts", "test/**/*.ts"], { cwd: root })
    .map((file) => ({ file, source: readFileSync(join(root, file), "utf8") }))
    .filter(({ source }) => /= programFlags\(import\.meta\.filename/.test(source));
  const starting = programs.filter(({ source }) => /import \{[^}]*\b(h2load|startEtcd|replicasTarget)\b/.test(source));
  assert.ok(starting.length > 5, "the programs are found");
  for (const { file, source } of starting) {
    const name = /import \{[^}]*\bh2load\b/.test(source) ? "h2load" : "etcd";
    assert.match(source, new RegExp(`needPrograms\\(import\\.meta\\.filename, \\[[^\\]]*"${name}"`), file);
  }
});
