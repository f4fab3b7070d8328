import { certificateFlags } from "../features/certificates/settings.ts";
import { controllerNames } from "../machinery/api/controller-names.ts";
import type { FlagValues, Flags } from "../machinery/command-line/flag.ts";

/** The settings of the loops: of `signet serve`, and of `signet controllers`. */
export const controllerFlags = {
  controllers: {
    type: "strings",
    default: ["*"],
    help:
      "The controllers to run in this process: * is every one, NAME switches one on, -NAME off; false is none. " +
      `Names: ${controllerNames.join(", ")}.`,
  },
  ...certificateFlags,
  "leader-elect": {
    type: "boolean",
    default: true,
    help: "Run the controllers only while holding their Lease, so that of several servers one does.",
  },
} as const satisfies Flags;

export type ControllerOptions = FlagValues<typeof controllerFlags>;
