import { apiVersion, type Kind } from "../api/discovery";

/** What its kind requires of a definition says too little to begin with: nothing can be seen of a schema. */
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com # the plural name, and the group
spec:
  group: example.com
  scope: Namespaced # or Cluster
  names:
    plural: boats
    singular: boat
    kind: Boat
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [length]
              properties:
                length:
                  type: integer
                  minimum: 1
                sails:
                  type: integer
                  default: 1
              x-kubernetes-validations:
                - rule: self.sails * 5 <= self.length
                  message: too many sails for its length
`;

/** exampleOf is the text with which a new object of some kinds begins. */
export function exampleOf(kind: Kind): string | undefined {
  return apiVersion(kind) === "apiextensions.k8s.io/v1" && kind.kind === "CustomResourceDefinition" ? definition : undefined;
}
