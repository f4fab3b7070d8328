import module from "node:module"; // as a whole: an old Node.js lacks some of its names, and must come as far as to say so
import { compileCacheFolder } from "./compile-cache-folder.js";

const oldestMajor = 26;
if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  const bundled =
    "the one that npm installed is node_modules/.bin/node, and npm start, npm run signet and bin/signet use it";
  console.error(`signet: Node.js ${oldestMajor} or later is needed, and this is ${process.version}; ${bundled}`);
  process.exit(2);
}

// The entry is JavaScript: with the compiled code of the last start, Node then need not even load what reads
// TypeScript, which takes 17 MiB and 50 ms. The cache must be on before anything else is loaded. Node runs what it finds
// there: never call this without a folder, since Node's default is in the temporary folder, which everybody may fill.
const folder = compileCacheFolder();
if (folder !== undefined) module.enableCompileCache(folder);
await import("./signet.ts").catch((error) => {
  // Commands report what they could not load themselves. Here it is a package that every command needs.
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  const reason = error.message.split("\n", 1)[0];
  console.error(`signet: its npm packages are not complete (${reason}); run npm ci in its folder, or install it again`);
  process.exit(2);
});
