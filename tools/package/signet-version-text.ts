import type { Plugin } from "esbuild";
import { signetVersion } from "../../src/server/signet-version.ts";

/** The version as a text. The module cannot read package.json in a bundle, because the path to it depends on the bundle's folder. */
export const signetVersionText: Plugin = {
  name: "version",
  setup: (build) =>
    build.onLoad({ filter: /\/src\/server\/signet-version\.ts$/ }, () => ({
      contents: `export const signetVersion = ${JSON.stringify(signetVersion)};`,
    })),
};
