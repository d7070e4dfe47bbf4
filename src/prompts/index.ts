import { antiTampering } from "./templates/anti-tampering.ts";
import { attachments } from "./templates/attachments.ts";
import { backgroundSummary } from "./templates/background-summary.ts";
import { blockedCall } from "./templates/blocked-call.ts";
import { clarify } from "./templates/clarify.ts";
import { closingNoteTemplate } from "./templates/closing-note.ts";
import { compress, summariseNow } from "./templates/compress.ts";
import { confirmation } from "./templates/confirmation.ts";
import { continueReplyTemplate } from "./templates/continue-reply.ts";
import { documentContext } from "./templates/document-context.ts";
import { documentReferences } from "./templates/document-references.ts";
import { emptyReply } from "./templates/empty-reply.ts";
import { toolNotCalled } from "./templates/tool-not-called.ts";
import { forcedTool } from "./templates/forced-tool.ts";
import { freeWork } from "./templates/free-work.ts";
import { goOnTemplate } from "./templates/go-on.ts";
import { identityAgentic } from "./identity/identity-agentic.ts";
import { identityChat } from "./identity/identity-chat.ts";
import { identityMinimal } from "./identity/identity-minimal.ts";
import { identity } from "./identity/identity.ts";
import { incompleteReply } from "./templates/incomplete-reply.ts";
import { iterationWarningTemplate } from "./templates/iteration-warning.ts";
import { jsonOutput } from "./templates/json-output.ts";
import { leftOutTemplate } from "./templates/left-out.ts";
import { loopNoteTemplate } from "./templates/loop-note.ts";
import { manualRun } from "./templates/manual-run.ts";
import { planMode } from "./templates/plan-mode.ts";
import { plan } from "./templates/plan.ts";
import { pruneNoteTemplate } from "./templates/prune-note.ts";
import { reply } from "./templates/reply.ts";
import { sessionInstructions } from "./templates/session-instructions.ts";
import { subAgents } from "./templates/sub-agents.ts";
import { summaryMarker } from "./templates/summary-marker.ts";
import { conversationTitle } from "./templates/title.ts";
import { toolCleared } from "./templates/tool-cleared.ts";
import { userRules, userRulesRead } from "./templates/user-rules.ts";
import { withoutToolsTemplate } from "./templates/without-tools.ts";
import { xmlTools, xmlToolsByTag } from "./templates/xml-tools.ts";
import type { Template } from "./template.ts";

/** Every template, by its name. A new one is a file of its own and a line here. */
export const templates: Readonly<Record<string, Template>> = {
  anti_tampering: antiTampering,
  attachments,
  background_summary: backgroundSummary,
  blocked_call: blockedCall,
  clarify,
  closing_note: closingNoteTemplate,
  compress,
  compress_now: summariseNow,
  confirmation,
  continue_reply: continueReplyTemplate,
  conversation_title: conversationTitle,
  document_context: documentContext,
  document_references: documentReferences,
  empty_reply: emptyReply,
  tool_not_called: toolNotCalled,
  forced_tool: forcedTool,
  free_work: freeWork,
  go_on: goOnTemplate,
  identity,
  identity_agentic: identityAgentic,
  identity_chat: identityChat,
  identity_minimal: identityMinimal,
  incomplete_reply: incompleteReply,
  iteration_warning: iterationWarningTemplate,
  json_output: jsonOutput,
  left_out: leftOutTemplate,
  loop_note: loopNoteTemplate,
  manual_run: manualRun,
  plan,
  plan_mode: planMode,
  prune_note: pruneNoteTemplate,
  reply,
  session_instructions: sessionInstructions,
  sub_agents: subAgents,
  summary_marker: summaryMarker,
  tool_cleared: toolCleared,
  user_rules: userRules,
  user_rules_read: userRulesRead,
  without_tools: withoutToolsTemplate,
  xml_tools: xmlTools,
  xml_tools_by_tag: xmlToolsByTag,
};
