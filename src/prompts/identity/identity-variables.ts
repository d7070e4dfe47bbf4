/** The variables that every identity may use, whatever the profile. */
export const predefinedVariables = [
  "project_name",
  "user_preferences",
  "today",
  "workspace_files",
  "git_branch",
] as const;

/** The variables that an identity about documents may use besides. */
export const documentFacts = [...predefinedVariables, "workspace_path"] as const;
