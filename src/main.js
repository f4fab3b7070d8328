#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { compileCacheFolder } from "./compile-cache-folder.js";

// The entry is JavaScript: with the compiled code of the last start at hand, Node then need not even load what reads
// TypeScript, which takes 17 MiB and 50 ms. The cache must be on before anything else is loaded. Node runs what it finds
// there: never call this without a folder, since Node's default is in the temporary folder, which everybody may fill.
const folder = compileCacheFolder();
if (folder !== undefined) enableCompileCache(folder);
await import("./main.ts");
