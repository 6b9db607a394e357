// node generate.mjs: validates the OpenAPI documents in documents/, and writes the TypeScript
// of those of the third version to src/.
import fs from "node:fs";
import SwaggerParser from "@apidevtools/swagger-parser";
import openapiTS, { astToString } from "openapi-typescript";

for (const name of fs.readdirSync("documents")) {
  const text = fs.readFileSync(`documents/${name}`, "utf8");
  try {
    await SwaggerParser.validate(JSON.parse(text));
    if (name === "v2.json") continue;
    const types = await openapiTS(JSON.parse(text), { defaultNonNullable: false, emptyObjectsUnknown: true });
    fs.writeFileSync(`src/${name.replace(".json", ".ts")}`, astToString(types));
  } catch (error) {
    console.error(`${name}: ${error.message.slice(0, 2000)}`);
    process.exitCode = 1;
  }
}
