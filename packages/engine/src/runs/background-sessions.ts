import { v5 as nameUuid } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { parentSessionKey } from "./remote-stops.ts";
import type { Session } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";

/** The namespace of their sessions' ids. */
const sessionNamespace = "5d0f4f0e-5c0f-4b5e-9a55-0f6d3a1f7c21";
/** Agents of one session that are looked at. */
const maxListed = 1000;

/** What the session of an agent in the background says of its origin. */
export const BackgroundOrigin = z.object({
  background_of: z.string(),
  background: z.object({
    call_id: z.string(),
    place: z.number().int(),
    agent: z.string(),
    task: z.string(),
    cleared: z.boolean().optional(),
  }),
});

/** The sessions of the agents that a session has sent to the background, oldest first. */
export async function sessionsOfAgents(
  { sessions }: { sessions: Pick<Storage["sessions"], "search"> },
  parent: Session,
): Promise<Session[]> {
  const found = await sessions.search({
    metadata: { [parentSessionKey]: parent.session_id },
    sort_by: "created_at",
    sort_order: "asc",
    limit: maxListed,
    offset: 0,
  });
  return found.sessions.filter(({ session_id, owner, metadata }) => {
    const origin = BackgroundOrigin.safeParse(metadata).data?.background;
    return (
      origin !== undefined && owner === parent.owner && session_id === backgroundSessionId(parent.session_id, origin)
    );
  });
}

/** The id of an agent's session: the same for the same call, so that a call which is repeated after a crash finds what it has begun. */
export function backgroundSessionId(parentId: string, { call_id, place }: { call_id: string; place: number }): string {
  return nameUuid(JSON.stringify([parentId, call_id, place]), sessionNamespace);
}
