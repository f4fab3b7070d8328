// An external signer of service account tokens on the API that Kubernetes publishes for it (k8s.io/externaljwt), with a
// key in memory. Prints "ready" when it listens on the socket that its argument names.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	externaljwt "k8s.io/externaljwt/apis/v1"
)

const keyID = "go-signer-1"

type signer struct {
	externaljwt.UnimplementedExternalJWTSignerServer
	key *ecdsa.PrivateKey
}

func (s *signer) Sign(_ context.Context, request *externaljwt.SignJWTRequest) (*externaljwt.SignJWTResponse, error) {
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"` + keyID + `","typ":"JWT"}`))
	digest := sha256.Sum256([]byte(header + "." + request.Claims))
	r, t, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	t.FillBytes(signature[32:])
	return &externaljwt.SignJWTResponse{Header: header, Signature: base64.RawURLEncoding.EncodeToString(signature)}, nil
}

func (s *signer) FetchKeys(context.Context, *externaljwt.FetchKeysRequest) (*externaljwt.FetchKeysResponse, error) {
	der, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err != nil {
		return nil, err
	}
	return &externaljwt.FetchKeysResponse{
		Keys:               []*externaljwt.Key{{KeyId: keyID, Key: der}},
		DataTimestamp:      timestamppb.Now(),
		RefreshHintSeconds: 60,
	}, nil
}

func (s *signer) Metadata(context.Context, *externaljwt.MetadataRequest) (*externaljwt.MetadataResponse, error) {
	return &externaljwt.MetadataResponse{MaxTokenExpirationSeconds: 7200}, nil
}

func main() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	externaljwt.RegisterExternalJWTSignerServer(server, &signer{key: key})
	fmt.Println("ready")
	log.Fatal(server.Serve(listener))
}
