/** A Pod of the service account `robot` in the namespace `fleet`, and its Node. */
export const podAndNode = `
apiVersion: v1
kind: Pod
metadata: { name: worker, namespace: fleet }
spec:
  serviceAccountName: robot
  nodeName: edge-1
  containers:
    - name: main
      image: worker:1
      env: [{ name: COLOUR, value: red }]
      ports: [{ containerPort: 8080, protocol: TCP }]
  volumes:
    - name: token
      projected: { sources: [{ serviceAccountToken: { path: token, audience: vault } }] }
---
apiVersion: v1
kind: Node
metadata: { name: edge-1 }
status:
  conditions: [{ type: Ready, status: "True" }]
  addresses: [{ type: InternalIP, address: 10.0.0.1 }]
  nodeInfo: { kubeletVersion: v1.34.0 }
`;
