import { Command } from "commander";
import { canI } from "./can-i-command.ts";
import { whoami } from "./whoami-command.ts";

/** `signet auth whoami|can-i`: who the caller is, and what the caller may do. */
export const auth = (): Command =>
  new Command("auth").description("show who you are, and what you may do").addCommand(whoami()).addCommand(canI());
