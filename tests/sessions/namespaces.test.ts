import { expect, test } from "vitest";
import { scopeFor } from "@millrace/engine/sessions/scope/owner-scope";
import { createSharedLocks } from "@millrace/engine/sessions/scope/shared-locks";
import { currentSession, openNamespace } from "@millrace/engine/sessions/namespaces";
import { ServerFeed } from "@millrace/engine/sessions/overview/server-feed";
import { createHarness, plainGraph } from "../runs/fixtures.ts";

test.each([null, "ada"])(
  "of several that open a namespace at once, one makes the session (owner %s)",
  async (owner) => {
    const { storage, runs } = await createHarness({ plain: plainGraph() });
    const scope = scopeFor(
      { storage, runs, feed: new ServerFeed(storage), locks: createSharedLocks(storage.notifications) },
      owner,
    );
    const opened = await Promise.all(["a", "b", "c"].map((name) => openNamespace(scope, "default", { name })));
    expect(new Set(opened.map(({ session_id }) => session_id)).size).toBe(1);
    expect(await currentSession(scope, "default")).toMatchObject({ metadata: { name: "a" } });
    // The bench has a session of its own.
    expect(storage.rows.sessionCount()).toBe(2);
  },
);
