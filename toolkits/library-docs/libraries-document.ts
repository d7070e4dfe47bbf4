import type { DocumentSource } from "../../src/context/documentation/documentation.ts";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import { createLibraries, librariesKey, type Libraries } from "./libraries.ts";
import { libraryDocs, libraryDocsRead } from "./prompts/library-docs.ts";

/** Opens the project's libraries for models and routes. */
export function openLibraries({ config: { dataDir }, workspace, logger, services }: ToolkitServer): OpenedToolkit {
  const libraries = createLibraries({ dataDir, workspace, logger });
  services.add(librariesKey, libraries);
  return { documents: [librariesDocument(libraries)] };
}

/** The added libraries' documents, separated by blank lines. */
function librariesDocument(source: Libraries): DocumentSource {
  return {
    kind: "library_docs",
    point: "llm_friendly_packages",
    load() {
      const { libraries, documents, problems } = source.load();
      return {
        kind: "library_docs",
        count: libraries.length,
        problems: problems.length,
        render({ before, prompts }) {
          if (before !== undefined || documents.length === 0) return null;
          const names = [...new Set(documents.map(({ library }) => library))];
          const docs = documents.map(({ text }) => text).join("\n\n");
          return {
            text: prompts.text(libraryDocs, { libraries: names.join(", "), docs: docs.toWellFormed() }),
            acknowledgement: prompts.text(libraryDocsRead, {}),
          };
        },
      };
    },
  };
}
