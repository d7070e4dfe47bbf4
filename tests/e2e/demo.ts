import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServerProcess } from "../support/server-process.ts";
import { approveDeletion, killAndResume, showHistory, streamedTurn } from "./demo-steps.ts";

/**
 * `npm run demo`: a server, its official client, and the main job on real files. Every step checks what it shows; the first
 * that does not happen ends the demo with exit code 1.
 */

const folder = mkdtempSync(join(tmpdir(), "millrace-demo-"));
const workspace = join(folder, "workspace");
mkdirSync(join(workspace, "drafts"), { recursive: true });
writeFileSync(
  join(workspace, "notes.md"),
  "# Notes\n\nThe mill race brings water to the wheel.\nIt runs day and night.\n",
);
writeFileSync(join(workspace, "drafts", "one.md"), "first draft\n");
writeFileSync(join(workspace, "drafts", "two.md"), "second draft\n");

const server = new ServerProcess(folder, workspace);
try {
  console.log(`Sample workspace: ${workspace}`);
  await server.start();
  console.log(`Server: ${server.url}, process ${server.pid}`);
  const thread = await streamedTurn(server, workspace);
  await approveDeletion(server, workspace, thread);
  await killAndResume(server, workspace, thread);
  await showHistory(server, thread);
  console.log("\nEverything the demo promises happened.");
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  console.error(readFileSync(server.logFile, "utf8").split("\n").slice(-20).join("\n"));
  process.exitCode = 1;
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
