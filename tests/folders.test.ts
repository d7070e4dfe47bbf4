import { expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";
import { ownFolders } from "../src/folders.ts";

it("the program's own folders are that of its data and, where it is another, that of conversations", () => {
  expect(ownFolders(loadConfig({ MILLRACE_DATA_DIR: "/opt/data" }))).toEqual(["/opt/data"]);
  const apart = { MILLRACE_DATA_DIR: "/opt/data", CONVERSATION_STORAGE_PATH: "/usr/share/talks" };
  expect(ownFolders(loadConfig(apart))).toEqual(["/opt/data", "/usr/share/talks"]);
});
