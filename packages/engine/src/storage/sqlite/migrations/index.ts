import type { Migration } from "../migrations.ts";
import { checkpoints } from "./001-checkpoints.ts";
import { records } from "./002-records.ts";
import { runSafety } from "./003-run-safety.ts";
import { approvals } from "./004-approvals.ts";
import { runStops } from "./005-run-stops.ts";
import { sessionOwners } from "./006-session-owners.ts";
import { operations } from "./007-operations.ts";
import { namespaces } from "./008-namespaces.ts";
import { modelRequests } from "./009-model-requests.ts";
import { backgroundSessions } from "./010-background-sessions.ts";
import { storeItems } from "./011-store-items.ts";
import { crons } from "./012-crons.ts";
import { sessionTtls } from "./013-session-ttls.ts";
import { assistants } from "./014-assistants.ts";
import { taskOwners } from "./015-task-owners.ts";
import { webhooks } from "./016-webhooks.ts";
import { itemsByChange } from "./017-items-by-change.ts";
import { webhookReceivers } from "./018-webhook-receivers.ts";
import { itemVectors } from "./019-item-vectors.ts";
import { cancelReasons } from "./020-cancel-reasons.ts";
import { webhooksByReceiver } from "./021-webhooks-by-receiver.ts";
import { clockWentBack } from "./022-clock-went-back.ts";
import { runTimes } from "./023-run-times.ts";
import { textIndex } from "./024-text-index.ts";
import { modelCalls } from "./025-model-calls.ts";
import { ownerUsage } from "./026-owner-usage.ts";
import { modelCallIds } from "./027-model-call-ids.ts";
import { runUsage } from "./028-run-usage.ts";
import { modelUsage } from "./029-model-usage.ts";
import { taskSessions } from "./030-task-sessions.ts";
import { operationsByPath } from "./031-operations-by-path.ts";

/** Every change of the schema, oldest first. Add new ones at the end. */
export const migrations: readonly Migration[] = [
  checkpoints,
  records,
  runSafety,
  approvals,
  runStops,
  sessionOwners,
  operations,
  namespaces,
  modelRequests,
  backgroundSessions,
  storeItems,
  crons,
  sessionTtls,
  assistants,
  taskOwners,
  webhooks,
  itemsByChange,
  webhookReceivers,
  itemVectors,
  cancelReasons,
  webhooksByReceiver,
  clockWentBack,
  runTimes,
  textIndex,
  modelCalls,
  ownerUsage,
  modelCallIds,
  runUsage,
  modelUsage,
  taskSessions,
  operationsByPath,
];
