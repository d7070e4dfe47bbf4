import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { unknownOwners } from "@millrace/engine/config/owner-limits";
import { recordLog } from "../support/processes/record-log.ts";
import { startTestServer } from "../support/test-server.ts";

/** The warnings for these variables: the name that is unknown, and the remedy. */
function warningsFor(env: Record<string, string>, hasRules = false): string[] {
  const config = loadConfig(env);
  return unknownOwners(config, config.apiKeys, hasRules).map(
    ({ variable, owner, remedy }) => `${variable} ${owner}: ${remedy}`,
  );
}

const keys = { MILLRACE_API_KEYS: "guest:1,ann:2" };

describe("an entry for an owner that no key has", () => {
  it.each([
    ["guest:tokens_per_day=1, *:cost_per_day=1", []],
    ["gest:tokens_per_day=1", ["MILLRACE_OWNER_LIMITS gest: did you mean guest?"]],
    ["Guest:tokens_per_day=1", ["MILLRACE_OWNER_LIMITS Guest: did you mean guest?"]],
    ["bob:tokens_per_day=1", ["MILLRACE_OWNER_LIMITS bob: the owners of MILLRACE_API_KEYS are guest, ann"]],
  ])("is reported with the nearest name: %s", (MILLRACE_OWNER_LIMITS, expected) => {
    expect(warningsFor({ ...keys, MILLRACE_OWNER_LIMITS })).toEqual(expected);
  });

  it("is reported for tools as well, and where no key has an owner", () => {
    expect(warningsFor({ ...keys, MILLRACE_OWNER_TOOLS: "anm:files" })).toEqual([
      "MILLRACE_OWNER_TOOLS anm: did you mean ann?",
    ]);
    expect(warningsFor({ MILLRACE_OWNER_LIMITS: "guest:cost_per_day=1" })).toEqual([
      "MILLRACE_OWNER_LIMITS guest: no key has an owner: write MILLRACE_API_KEYS as owner:key",
    ]);
  });

  it("may be a user of auth.path, unless it is nearly an owner", () => {
    const limits = { ...keys, MILLRACE_OWNER_LIMITS: "ada@example.org:cost_per_day=1, guets:cost_per_day=1" };
    expect(warningsFor(limits, true)).toEqual(["MILLRACE_OWNER_LIMITS guets: did you mean guest?"]);
  });

  it("is a line of the log at the start", async () => {
    const { logger, lines } = recordLog();
    const { apiKeys, ownerLimits } = loadConfig({ ...keys, MILLRACE_OWNER_LIMITS: "gest:cost_per_day=1" });
    const server = await startTestServer({ apiKeys, ownerLimits }, logger);
    await server.remove();
    const warnings = lines.filter(({ msg }) => msg === "unknown_owner");
    expect(warnings).toMatchObject([
      { level: 40, variable: "MILLRACE_OWNER_LIMITS", owner: "gest", remedy: "did you mean guest?" },
    ]);
  });
});
