import { listCodeDefinitionNames } from "./list-code-definition-names.ts";
import { replaceInFile } from "./replace-in-file.ts";
import { writeToFile } from "./write-to-file.ts";

/** The tools for source code, by the name that models call. */
export const codeTools = {
  write_to_file: writeToFile,
  replace_in_file: replaceInFile,
  list_code_definition_names: listCodeDefinitionNames,
};
