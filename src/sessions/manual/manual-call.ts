import type { ManualCallStores } from "@millrace/engine/storage/attempt-store";
import type { Graphs } from "@millrace/engine/graphs/load";
import type { SharedRunServices } from "../../loop/services.ts";
import type { Operation } from "../../tools/runtime/tool.ts";
import type { EditParts } from "@millrace/engine/sessions/state/edit-messages";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** A tool call that a person makes by hand. */
export interface ManualCall {
  tool: string;
  args: Record<string, unknown>;
  /** Names the call, with a hash of tool and arguments: the same again has no second effect and gives the first result. */
  submission?: { key: string; hash: string } | undefined;
  /** The hash of the approved question. */
  approved_hash?: string | undefined;
  /** The user of `auth.path` who requested it; as with runs. */
  owner?: string | undefined;
}

/** The outcome: a result with the messages it adds to the history, or the question that has to be answered first. */
export type ManualAnswer =
  | { kind: "ran"; call_id: string | null; message_ids: string[]; result: ToolResult }
  | {
      kind: "ask";
      question: string;
      operation: Operation;
      args: Record<string, unknown>;
      hash: string;
      may_remember: boolean;
      has_changed: boolean;
    };

/** What runs by hand need. `services` are those that runs have, so that both meet at the same locks. */
export interface ManualParts extends EditParts {
  services: SharedRunServices;
  /** Where the calls are recorded. */
  stores: ManualCallStores;
  graphs: Graphs;
}
