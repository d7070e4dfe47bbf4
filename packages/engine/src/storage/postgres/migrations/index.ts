import type { Migration } from "../migrations.ts";
import { records } from "./001-records.ts";
import { items } from "./002-items.ts";
import { checkpoints } from "./003-checkpoints.ts";
import { webhooksTaken } from "./004-webhooks-taken.ts";
import { openRuns } from "./005-open-runs.ts";
import { runUsage } from "./006-run-usage.ts";
import { servers } from "./007-servers.ts";
import { owners } from "./008-owners.ts";
import { webhookOwners } from "./009-webhook-owners.ts";
import { graphsOfServers } from "./010-graphs.ts";
import { oneStep } from "./011-one-step.ts";
import { ownConcerns } from "./012-own-concerns.ts";
import { modelUsage } from "./013-model-usage.ts";
import { taskSessions } from "./014-task-sessions.ts";
import { operationsByPath } from "./015-operations-by-path.ts";
import { sharedFiles } from "./016-shared-files.ts";
import { workspaces } from "./017-workspaces.ts";
import { earlyVacuum } from "./018-early-vacuum.ts";
import { mcpSessions } from "./019-mcp-sessions.ts";
import { codeVersions } from "./020-code-versions.ts";
import { earlierVacuum } from "./021-earlier-vacuum.ts";

/** All changes of the schema, in their order. */
export const migrations: readonly Migration[] = [
  records,
  items,
  checkpoints,
  webhooksTaken,
  openRuns,
  runUsage,
  servers,
  owners,
  webhookOwners,
  graphsOfServers,
  oneStep,
  ownConcerns,
  modelUsage,
  taskSessions,
  operationsByPath,
  sharedFiles,
  workspaces,
  earlyVacuum,
  mcpSessions,
  codeVersions,
  earlierVacuum,
];
