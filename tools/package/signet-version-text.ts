import type { Plugin } from "esbuild";
import { signetVersion } from "../../src/server/signet-version.ts";

/** The version as a text: the module itself reads package.json, and where that is depends on the folder of the bundle. */
export const signetVersionText: Plugin = {
  name: "version",
  setup: (build) =>
    build.onLoad({ filter: /\/src\/server\/signet-version\.ts$/ }, () => ({
      contents: `export const signetVersion = ${JSON.stringify(signetVersion)};`,
    })),
};
