import assert from "node:assert/strict";
import { test } from "node:test";
import { failureReport } from "../../src/cli/failure-report.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import type { StatusReason } from "../../src/machinery/api/status.ts";

test("a current folder that was removed is named as the cause, not Node.js's function that looked for it", () => {
  const error = Object.assign(new Error("ENOENT: process.cwd failed"), { code: "ENOENT", syscall: "uv_cwd" });
  assert.equal(failureReport(error, "signet csr list").message, "the current folder was removed; go to another");
});

test("a refusal has no advice for a reason that only names what every object has", () => {
  const reason = "constructor" as StatusReason; // what another server may answer
  const { message } = failureReport(new ApiError({ code: 400, reason, message: "no" }), "signet csr list");
  assert.equal(message, "the server refused (400 constructor): no");
});
