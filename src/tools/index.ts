import { backgroundTask } from "./agents/background-task.ts";
import { readSubagentResults } from "./agents/read-subagent-results.ts";
import { runNamedSubagents } from "./agents/run-named-subagents.ts";
import { askFollowupQuestion } from "./conversation/ask-followup-question.ts";
import { attemptCompletion } from "./conversation/attempt-completion.ts";
import { writeTodos } from "./conversation/write-todos.ts";
import { readHistory } from "./conversation/read-history.ts";
import { conversationMessageIdsRead } from "./conversation/conversation-message-ids-read.ts";
import { conversationMessageIdsWrite } from "./conversation/conversation-message-ids-write.ts";
import { planModeRespond } from "./conversation/plan-mode-respond.ts";
import { writeFile } from "./files/write-file.ts";
import { editFile } from "./files/edit-file.ts";
import { createFile } from "./files/create-file.ts";
import { createFolder } from "./files/create-folder.ts";
import { deleteFile } from "./files/delete-file.ts";
import { listFiles } from "./files/list-files.ts";
import { moveFile } from "./files/move-file.ts";
import { readFile } from "./files/read-file.ts";
import { renameFile } from "./files/rename-file.ts";
import { searchContent } from "./files/search-content.ts";
import { searchFiles } from "./files/search-files.ts";
import { updateFile } from "./files/update-file.ts";

/** Files and folders of the workspace. */
export const fileTools = {
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  create_file: createFile,
  update_file: updateFile,
  delete_file: deleteFile,
  list_files: listFiles,
  search_files: searchFiles,
  search_content: searchContent,
  move_file: moveFile,
  rename_file: renameFile,
  create_folder: createFolder,
};

/** The conversation itself. */
export const conversationTools = {
  write_todos: writeTodos,
  attempt_completion: attemptCompletion,
  ask_followup_question: askFollowupQuestion,
  plan_mode_respond: planModeRespond,
  read_history: readHistory,
  conversation_message_ids_write: conversationMessageIdsWrite,
  conversation_message_ids_read: conversationMessageIdsRead,
};

/** Delegation to agents. */
export const agentTools = {
  run_named_subagents: runNamedSubagents,
  read_subagent_results: readSubagentResults,
  background_task: backgroundTask,
};

/** The agent's built-in tools by name; toolkits add theirs. */
export const tools = {
  ...fileTools,
  ...conversationTools,
  ...agentTools,
};
