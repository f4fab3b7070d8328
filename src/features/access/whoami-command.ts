import { Command } from "commander";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { connect, withConnectionFlags } from "../../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../../machinery/command-line/connection.ts";
import { print, table, withOutputFlag } from "../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../machinery/command-line/output.ts";

interface SelfSubjectReview extends ApiObject {
  readonly status?: {
    readonly userInfo?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/** `signet whoami`: shows how the server identifies the caller. */
export const whoami = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("whoami")))
    .description("show the user that the server authenticates you as")
    .action(async (flags: ConnectionFlags & { readonly output: OutputFormat }) => {
      const { client, names } = await connect(flags);
      const group = names.group("authentication");
      const review = await client.request<SelfSubjectReview>("POST", `/apis/${group}/v1/selfsubjectreviews`, {
        body: { apiVersion: `${group}/v1`, kind: "SelfSubjectReview" },
      });
      const { username = "", uid, groups = [], extra = {} } = review.status?.userInfo ?? {};
      print(review, flags.output, () =>
        table(
          ["ATTRIBUTE", "VALUE"],
          [
            ["Username", username],
            ...(uid === undefined ? [] : [["UID", uid]]),
            ["Groups", groups.join(", ")],
            ...Object.entries(extra).map(([key, values]) => [`Extra: ${key}`, values.join(", ")]),
          ],
        ),
      );
      client.close();
    });
