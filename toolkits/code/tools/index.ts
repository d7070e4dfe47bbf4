import { listCodeDefinitionNames } from "./list-code-definition-names.ts";
import { replaceInFile } from "./replace-in-file.ts";
import { writeToFile } from "./write-to-file.ts";

/** The source code tools by name. */
export const codeTools = {
  write_to_file: writeToFile,
  replace_in_file: replaceInFile,
  list_code_definition_names: listCodeDefinitionNames,
};
