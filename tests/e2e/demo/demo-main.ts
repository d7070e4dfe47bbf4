import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Demo } from "./demo-session.ts";
import { approveDeletion, killAndResume, showHistory, streamedTurn } from "./demo-steps.ts";

/** A streamed turn, a deletion that waits for a yes, a run that survives kill -9, and the history of it all. */
export const main: Demo = {
  prepare(workspace) {
    mkdirSync(join(workspace, "drafts"));
    writeFileSync(
      join(workspace, "notes.md"),
      "# Notes\n\nThe mill race brings water to the wheel.\nIt runs day and night.\n",
    );
    writeFileSync(join(workspace, "drafts", "one.md"), "first draft\n");
    writeFileSync(join(workspace, "drafts", "two.md"), "second draft\n");
  },
  async perform(server, workspace) {
    const thread = await streamedTurn(server, workspace);
    await approveDeletion(server, workspace, thread);
    await killAndResume(server, workspace, thread);
    await showHistory(server, thread);
  },
};
