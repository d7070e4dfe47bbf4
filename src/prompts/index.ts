import { analysisOutput } from "./analysis-output.ts";
import { analyzeSimulation } from "./analyze-simulation.ts";
import { antiTampering } from "./anti-tampering.ts";
import { attachments } from "./attachments.ts";
import { backgroundSummary } from "./background-summary.ts";
import { blockedCall } from "./blocked-call.ts";
import { clarify } from "./clarify.ts";
import { closing } from "./closing-note.ts";
import { compress, summariseNow } from "./compress.ts";
import { confirmation } from "./confirmation.ts";
import { continuedReply } from "./continue-reply.ts";
import { diagnostics } from "./diagnostics.ts";
import { documentContext } from "./document-context.ts";
import { documentReferences } from "./document-references.ts";
import { emptyReply } from "./empty-reply.ts";
import { executeInstruction } from "./execute-instruction.ts";
import { externalTools, externalToolsRead } from "./external-tools.ts";
import { extractDesignGoals } from "./extract-design-goals.ts";
import { fileMove } from "./file-move.ts";
import { fileSummary } from "./file-summary.ts";
import { finalAnswer } from "./final-answer.ts";
import { fixError } from "./fix-error.ts";
import { folderCheck } from "./folder-check.ts";
import { forcedTool } from "./forced-tool.ts";
import { freeWork } from "./free-work.ts";
import { generalConversation } from "./general-conversation.ts";
import { goingOn } from "./go-on.ts";
import { identityAgentic } from "./identity-agentic.ts";
import { identityChat } from "./identity-chat.ts";
import { identityCircuit } from "./identity-circuit.ts";
import { identityDocument } from "./identity-document.ts";
import { identityMinimal } from "./identity-minimal.ts";
import { identityPlanner } from "./identity-planner.ts";
import { identity } from "./identity.ts";
import { incompleteReply } from "./incomplete-reply.ts";
import { initialDesign } from "./initial-design.ts";
import { intent } from "./intent.ts";
import { roundsLeft } from "./iteration-warning.ts";
import { jsonOutput } from "./json-output.ts";
import { leavingOut } from "./left-out.ts";
import { libraryDocs, libraryDocsRead } from "./library-docs.ts";
import { circling } from "./loop-note.ts";
import { manualRun } from "./manual-run.ts";
import { optimizeParameters } from "./optimize-parameters.ts";
import { planStep } from "./plan-step.ts";
import { planMode } from "./plan-mode.ts";
import { plan } from "./plan.ts";
import { roomLeft } from "./prune-note.ts";
import { reply } from "./reply.ts";
import { searchResults } from "./search-results.ts";
import { sessionInstructions } from "./session-instructions.ts";
import { spiceOutput } from "./spice-output.ts";
import { subAgents } from "./sub-agents.ts";
import { summaryMarker } from "./summary-marker.ts";
import { taskSummary } from "./task-summary.ts";
import { conversationTitle } from "./title.ts";
import { toolCleared } from "./tool-cleared.ts";
import { userRules, userRulesRead } from "./user-rules.ts";
import { toolless } from "./without-tools.ts";
import { writeReport } from "./write-report.ts";
import { xmlTools, xmlToolsByTag } from "./xml-tools.ts";
import type { Template } from "./template.ts";

/** Every template, by its name. A new one is a file of its own and a line here. */
export const templates: Readonly<Record<string, Template>> = {
  analysis_output: analysisOutput,
  analyze_simulation: analyzeSimulation,
  anti_tampering: antiTampering,
  attachments,
  background_summary: backgroundSummary,
  blocked_call: blockedCall,
  clarify,
  closing_note: closing,
  compress,
  compress_now: summariseNow,
  confirmation,
  continue_reply: continuedReply,
  conversation_title: conversationTitle,
  diagnostics,
  document_context: documentContext,
  document_references: documentReferences,
  empty_reply: emptyReply,
  execute_instruction: executeInstruction,
  external_tools: externalTools,
  external_tools_read: externalToolsRead,
  extract_design_goals: extractDesignGoals,
  file_move: fileMove,
  file_summary: fileSummary,
  final_answer: finalAnswer,
  fix_error: fixError,
  folder_check: folderCheck,
  forced_tool: forcedTool,
  free_work: freeWork,
  general_conversation: generalConversation,
  go_on: goingOn,
  identity,
  identity_agentic: identityAgentic,
  identity_chat: identityChat,
  identity_circuit: identityCircuit,
  identity_document: identityDocument,
  identity_minimal: identityMinimal,
  identity_planner: identityPlanner,
  incomplete_reply: incompleteReply,
  initial_design: initialDesign,
  intent,
  iteration_warning: roundsLeft,
  json_output: jsonOutput,
  left_out: leavingOut,
  library_docs: libraryDocs,
  library_docs_read: libraryDocsRead,
  loop_note: circling,
  manual_run: manualRun,
  optimize_parameters: optimizeParameters,
  plan,
  plan_mode: planMode,
  plan_step: planStep,
  prune_note: roomLeft,
  reply,
  search_results: searchResults,
  session_instructions: sessionInstructions,
  spice_output: spiceOutput,
  sub_agents: subAgents,
  summary_marker: summaryMarker,
  task_summary: taskSummary,
  tool_cleared: toolCleared,
  user_rules: userRules,
  user_rules_read: userRulesRead,
  without_tools: toolless,
  write_report: writeReport,
  xml_tools: xmlTools,
  xml_tools_by_tag: xmlToolsByTag,
};
