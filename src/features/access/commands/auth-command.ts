import { Command } from "commander";
import { canI } from "./can-i-command.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection/connection.ts";
import { postReview } from "../../../machinery/client/post-review.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { print, withAnswerOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { textTable } from "../../../machinery/command-line/output/text-table.ts";
import type { SelfSubjectReview } from "../reviews/self-subject-reviews.ts";

/** `signet auth whoami|can-i`: who the caller is, and what the caller may do. */
export const auth = (): Command =>
  new Command("auth").description("show who you are, and what you may do").addCommand(whoami()).addCommand(canI());

/** `signet auth whoami`: shows how the server identifies the caller. */
export const whoami = (): Command =>
  withExamples(
    withAnswerOutputFlag(withConnectionFlags(new Command("whoami")))
      .description("show the user that the server authenticates you as")
      .action((flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async ({ client, names }) => {
          const group = names.group("authentication");
          const review = await postReview<Partial<SelfSubjectReview>>(client, { group, kind: "SelfSubjectReview" });
          print(review, { flags, text: () => whoamiText(review) });
        }),
      ),
    ["Who you are", "signet auth whoami"],
    ["Whose token this is", 'signet auth whoami --token "$TOKEN"'],
  );

function whoamiText({ status }: Partial<SelfSubjectReview>): string {
  const { username = "", uid, groups = [], extra = {} } = status?.userInfo ?? {};
  return textTable(
    [
      ["Username", username],
      ...(uid === undefined ? [] : [["UID", uid]]),
      ["Groups", groups.join(", ")],
      ...Object.entries(extra).map(([key, values]) => [`Extra: ${key}`, values.join(", ")]),
    ],
    { header: ["ATTRIBUTE", "VALUE"] },
  );
}
