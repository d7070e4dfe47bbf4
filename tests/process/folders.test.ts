import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { hiddenPlaces, ownFolders } from "@millrace/engine/process/folders";

it("the program's own folders are that of its data and, where it is another, that of conversations", () => {
  expect(ownFolders(loadConfig({ MILLRACE_DATA_DIR: "/opt/data" }))).toEqual(["/opt/data"]);
  const apart = { MILLRACE_DATA_DIR: "/opt/data", CONVERSATION_STORAGE_PATH: "/usr/share/talks" };
  expect(ownFolders(loadConfig(apart))).toEqual(["/opt/data", "/usr/share/talks"]);
});

it("commands see neither those nor the files that hold the program's keys", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-folders-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of [".env", ".env.local", ".env.example", ".envrc", "langgraph.json"]) {
    await writeFile(join(folder, name), "");
  }
  await mkdir(join(folder, "data"));
  const config = {
    MILLRACE_DATA_DIR: join(folder, "data"),
    MILLRACE_GRAPHS: join(folder, "langgraph.json"),
    MILLRACE_MCP: join(folder, "servers.json"),
  };
  const hidden = hiddenPlaces(loadConfig(config)).filter((place) => place.startsWith(folder));
  expect(hidden.toSorted()).toEqual(
    [".env", ".env.local", "data", "langgraph.json", "servers.json"].map((name) => join(folder, name)),
  );
  expect(hiddenPlaces(loadConfig({ MILLRACE_GRAPHS: join(folder, "gone", "langgraph.json") }))).not.toEqual([]);
});
