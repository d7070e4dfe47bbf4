import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Demo } from "./demo-session.ts";
import { approveDeletion, killAndResume, showHistory, streamedTurn } from "./demo-steps.ts";

const notes = {
  en: "# Notes\n\nThe mill race brings water to the wheel.\nIt runs day and night.\n",
  zh: "# 笔记\n\n水渠把水引到水车。\n水车日夜转动。\n",
};

/** A streamed turn, a deletion that waits for an approval, a run that survives kill -9, and the history of it all. */
export const main: Demo = {
  prepare(workspace, language) {
    mkdirSync(join(workspace, "drafts"));
    writeFileSync(join(workspace, "notes.md"), notes[language]);
    writeFileSync(join(workspace, "drafts", "one.md"), language === "zh" ? "第一稿\n" : "first draft\n");
    writeFileSync(join(workspace, "drafts", "two.md"), language === "zh" ? "第二稿\n" : "second draft\n");
  },
  async perform(server, workspace, language) {
    const thread = await streamedTurn(server, workspace, language);
    await approveDeletion(server, workspace, thread, language);
    await killAndResume(server, workspace, thread, language);
    await showHistory(server, thread, language);
  },
};
